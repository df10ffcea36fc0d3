import { Int32, Utf8 } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { bindExpression } from '../../src/sql/bind.ts';
import { columnsUsed, fieldsUsed } from '../../src/sql/evaluate/columns.ts';
import { parseExpression } from '../../src/sql/parse.ts';
import { RegexpSearch } from '../../src/sql/patterns/regexp-search.ts';
import { SqlError } from '../../src/sql/values/sql-error.ts';
import { evaluate } from '../../src/sql/evaluate.ts';
import { CountedBudget, OverCount } from './counted-budget.ts';
import { ask, batchOf, column } from './support.ts';

const long = 'a'.repeat(50_000);
const rows = 2000;
const batch = batchOf({
  n: column(
    new Int32(),
    Array.from({ length: rows }, (_, row) => row),
  ),
  t: column(
    new Utf8(),
    Array.from({ length: rows }, (_, row) => (row === 0 ? long : 'ab')),
  ),
});

const numbers = Array.from({ length: 90_000 }, (_, at) => at);

/** Each would take hours, or all memory, if its work grew faster than its text. */
const hostile: readonly (readonly [name: string, text: string, outcome: string | RegExp])[] = [
  ['an IN list of a megabyte', `n in (${numbers.join(', ')})`, 'accepted'],
  [
    'an IN list of lists',
    `[n] in (${numbers
      .slice(0, 15_000)
      .map((each) => `[${each}]`)
      .join(', ')})`,
    'accepted',
  ],
  [
    'an IN list of structs',
    `struct(n) in (${numbers
      .slice(0, 9000)
      .map((each) => `struct(${each})`)
      .join(', ')})`,
    'accepted',
  ],
  ['LIKE with many %', `t like '${'%a'.repeat(500)}%b%'`, 'accepted'],
  ['LIKE with _ between %', `t like '%${'_'.repeat(1000)}b%'`, 'accepted'],
  ['a regular expression that backtracks elsewhere', "regexp_like(t, '^(a+)+$')", 'accepted'],
  ['nested stars', "regexp_like(t, '((((a*)*)*)*)*b')", 'accepted'],
  ['captures that backtrack elsewhere', "regexp_replace(t, '(a|aa)+$', 'x')", 'accepted'],
  ['empty matches at each place', "regexp_replace(t, 'a*?', '', 'g')", 'accepted'],
  [
    'matches that each look to the end of the text',
    "regexp_replace(t, 'a.*z|a', 'x', 'g')",
    /^limit: expected a regular expression that looks at each character at most 16 times, found more/,
  ],
  [
    'a replacement that grows',
    "regexp_replace(t, 'a', repeat('x', 100000), 'g')",
    /^limit: expected at most 67108864 characters from regexp_replace, found /,
  ],
  ['counts in counts', "regexp_like(t, '((a{100}){100}){100}')", /^limit: /],
  [
    'a long CASE',
    `case n ${numbers
      .slice(0, 5000)
      .map((at) => `when ${at} then ${at} `)
      .join('')} end`,
    'accepted',
  ],
  ['a repeated text', "length(repeat('x', 60000000)) > n", 'accepted'],
  [
    'a repeated text for each row',
    "repeat('x', 60000000)",
    /^limit: expected at most 402653184 bytes/,
  ],
  [
    'many repeated texts',
    Array(4000).fill("length(repeat('x', 60000000)) > n").join(' and '),
    'over budget: work',
  ],
  [
    'many distances',
    Array(100)
      .fill(`levenshtein('${'x'.repeat(4000)}', '${'y'.repeat(4000)}') > n`)
      .join(' and '),
    'over budget: work',
  ],
  [
    'many repeated texts in a call',
    `coalesce(${Array(90).fill("length(repeat('x', 60000000)) > n").join(', ')})`,
    'accepted',
  ],
  ['a padded text for each row', 'lpad(t, 1000000)', 'over budget: work'],
  ['a long range for each row', 'range(4000000)', /^limit: expected at most 134217728 elements/],
  ['ranges that differ', 'range(n * 100000)', /^limit: expected at most 4194304 elements of lists/],
  [
    'a list repeated',
    "array_repeat(string_to_array(repeat('a,', 1000), ','), 4000)[n]",
    'accepted',
  ],
  ['lists that grow', `${'array_concat('.repeat(1)}range(3000000), range(3000000))[n]`, /^limit: /],
  ['a text of separators', "array_length(string_to_array(repeat(',', 1000000), ','))", 'accepted'],
  ['a distance of long texts', 'levenshtein(t, t)', /^limit: expected texts of which the lengths/],
  ['a great factorial', 'factorial(9223372036854775807)', /^overflow: /],
  ['an exponent', 'n = 1e308 * 10', 'accepted'],
  ['digits of a decimal', `n = ${'9'.repeat(38)}`, 'accepted'],
  ['deep lists', `${'['.repeat(150)}n${']'.repeat(150)}`, 'accepted'],
  ['deep structs', `${'struct('.repeat(150)}n${')'.repeat(150)}`, 'accepted'],
  [
    'deep types',
    `cast([n] as ${'array<'.repeat(30)}int${'>'.repeat(30)})`,
    /^limit: expected at most 20 nested types/,
  ],
  ['deep type suffixes', `n::int${'[]'.repeat(5000)}`, /^limit: expected at most 20 nested types/],
  ['a deep Arrow type', `arrow_cast(n, '${'List('.repeat(3000)}Int8')`, /^type: /],
  ['a long format', `to_char(current_date, '${'%Y'.repeat(20_000)}') = 'x'`, 'accepted'],
  ['many parameters', `n in (${'?, '.repeat(20_000)} 1)`, /^limit: /],
];

/** The outcome under a budget that everything ordinary keeps within. */
function outcomeOf(text: string): string {
  const budget = new CountedBudget({ work: 2 ** 28, memory: 2 ** 30 });
  try {
    const bound = bindExpression(parseExpression(text), { fields: batch.schema.fields, budget });
    evaluate(bound, batch);
    return 'accepted';
  } catch (error) {
    if (error instanceof SqlError) return `${error.kind}: ${error.message}`;
    if (error instanceof OverCount) return error.message;
    throw error;
  }
}

describe('no input makes it slow', () => {
  it.each(hostile)('%s', (_, text, outcome) => {
    const found = outcomeOf(text);
    if (typeof outcome === 'string') expect(found).toBe(outcome);
    else expect(found).toMatch(outcome);
  });

  it.each(['(a+)+$', '(a|aa)+$', '((a*)*)*b', 'a.*z'])(
    'looking once for %s looks at each character once',
    (pattern) => {
      const flags = { ignoreCase: false, lines: false, dotAll: false };
      const search = new RegexpSearch(pattern, flags, 1);
      search.find(
        Uint32Array.from(long, (character) => character.charCodeAt(0)),
        long.length,
        0,
      );
      expect(search.scanned).toBeLessThanOrEqual(long.length + 1);
    },
  );

  it.each([
    ['CASE', (inner: string) => `case ${inner} when 1 then 2 when 3 then n else 5 end`],
    ['BETWEEN', (inner: string) => `(${inner} between -n and n)::int`],
  ])('%s in itself is gone through once, though it asks its operand twice', (_, around) => {
    const text = Array.from({ length: 60 }).reduce<string>(around, 'n');
    const bound = bindExpression(parseExpression(`${text} = 1`), { fields: batch.schema.fields });
    expect([...fieldsUsed(bound)]).toEqual([['n', null]]);
    expect(columnsUsed(bound)).toEqual(['n']);
  });

  it('an IN list of lists asks each row for one key', () => {
    expect(ask('[n] in ([1], [3], [5000])', batch).filter((found) => found === true)).toHaveLength(
      2,
    );
  });
});
