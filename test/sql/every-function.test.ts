import { Int64, List, Field, Utf8, Float64 } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { bindExpression } from '../../src/sql/bind.ts';
import { SqlError } from '../../src/sql/values/sql-error.ts';
import { evaluate } from '../../src/sql/evaluate.ts';
import { functions } from '../../src/sql/functions/table.ts';
import { parseExpression } from '../../src/sql/parse.ts';
import { CountedBudget, OverCount } from './counted-budget.ts';
import { batchOf, column } from './support.ts';
import { triesAll } from '../support/cases.ts';

const ROWS = 16;
const LONG = 2 ** 14;
const WORK = 2 ** 22;
const MEMORY = 2 ** 24;

const rows = Array.from({ length: ROWS }, (_, row) => row);
const batch = batchOf({
  // Long texts that differ at their end alone, of letters, separators and digits.
  t: column(
    new Utf8(),
    rows.map((row) => `${'a,b '.repeat(LONG / 4)}${row}`),
  ),
  json: column(
    new Utf8(),
    rows.map((row) => `[${'1,'.repeat(LONG / 2)}${row}]`),
  ),
  n: column(new Int64(), rows.map(BigInt)),
  f: column(new Float64(), rows),
  ln: column(
    new List(new Field('item', new Int64(), true)),
    rows.map((row) => Array.from({ length: 1000 }, (_, at) => BigInt(at * row))),
  ),
  lt: column(
    new List(new Field('item', new Utf8(), true)),
    rows.map((row) => Array.from({ length: 100 }, (_, at) => `${'x'.repeat(100)}${at * row}`)),
  ),
});

/** What an argument may be: as dear as its kind allows. */
const values: readonly string[] = [
  't',
  'n + 1000000',
  "'(a|b|,)*?b'",
  'ln',
  'lt',
  'json',
  'f',
  "'$[0]'",
  "cast('2024-02-29' as timestamp)",
  "'base64'",
  'map(ln, ln)',
];

const thirds: readonly string[] = ['t', 'n + 1000000', "'x'", 'ln', 'lt'];

/** Lists of arguments, up to three of any kinds: of each two with every third one, or with one that takes turns. */
function* argumentLists(): Generator<readonly string[]> {
  let turn = 0;
  yield [];
  for (const first of values) {
    yield [first];
    for (const second of values) {
      yield [first, second];
      const at = turn++ % thirds.length;
      for (const third of triesAll ? thirds : thirds.slice(at, at + 1)) {
        yield [first, second, third];
      }
    }
  }
}

interface Ended {
  readonly text: string;
  readonly how: 'made' | 'refused' | 'over budget';
  readonly worked: number;
  /** Bytes of the result. */
  readonly bytes: number;
}

/** What a call came to; undefined when the function does not take the arguments. */
function run(text: string): Ended | undefined {
  const budget = new CountedBudget({ work: WORK, memory: MEMORY });
  const ended = (how: Ended['how'], bytes = 0) => ({ text, how, worked: budget.worked, bytes });
  let bound: ReturnType<typeof bindExpression>;
  try {
    bound = bindExpression(parseExpression(text), { fields: batch.schema.fields, budget });
  } catch (error) {
    if (error instanceof SqlError) return undefined;
    if (error instanceof OverCount) return ended('over budget');
    throw error;
  }
  try {
    return ended('made', evaluate(bound, batch).byteLength);
  } catch (error) {
    if (error instanceof SqlError) return ended('refused');
    if (error instanceof OverCount) return ended('over budget');
    throw error;
  } finally {
    // All that was held is given back, however it ended.
    expect(budget.held).toBe(0);
    expect(budget.peak).toBeLessThanOrEqual(MEMORY);
  }
}

describe('every function', () => {
  it.each([...functions.keys()])('%s ends at its budget and counts what it makes', (name) => {
    const all: Ended[] = [];
    for (const list of argumentLists()) {
      const ended = run(`${name}(${list.join(', ')})`);
      if (ended !== undefined) all.push(ended);
    }
    // The clock functions take nothing, and some want literals that stand in no list above.
    for (const { text, how, worked, bytes } of all) {
      // What is told of in portions is not told of at the end.
      expect(worked, text).toBeLessThanOrEqual(WORK + 2 ** 23);
      if (how === 'made') expect(bytes, text).toBeLessThanOrEqual(MEMORY);
      // A result that is longer than its arguments was paid for.
      if (how === 'made') expect(bytes, text).toBeLessThanOrEqual(2 ** 23 + 4 * worked);
    }
  });

  it.each([
    'repeat(t, n + 1000)',
    'lpad(t, n + 1000000)',
    'rpad(t, n + 1000000, t)',
    'replace(t, t, repeat(t, 100))',
    "replace(t, 'a', left(t, 1000))",
    "regexp_replace(t, '(a|b|,| )*?b', '$1$1', 'g')",
    "regexp_count(t, '(a|b)*,')",
    "regexp_like(repeat(t, 100), '(a|b)*x')",
    'array_repeat(t, n + 100000)',
    'array_repeat(ln, n + 100000)',
    'array_to_string(array_repeat(t, 1000), t)',
    'array_length(range(n, n + 60000)) + array_length(array_sort(range(n, n + 60000)))',
    'generate_series(0, n + 60000)',
    'array_concat(range(0, n + 60000), ln)',
    'flatten(array_repeat(ln, 10000))',
    'array_distinct(range(0, n + 60000))',
    'array_union(range(0, n + 60000), ln)',
    'array_intersect(range(0, n + 60000), range(0, 60000))',
    'array_has(range(0, 1000000), n)',
    'array_has_all(range(0, 60000), range(n, 60000))',
    'array_sort(range(0, n + 60000))',
    "string_to_array(repeat(t, 100), 'a')",
    'array_length(string_to_array(repeat(t, 1000), NULL)) + n',
    'levenshtein(left(t, 4000), reverse(left(t, 4000)))',
    'translate(repeat(t, 1000), t, reverse(t))',
    "split_part(repeat(t, 1000), ',', 1000000)",
    "substring_index(repeat(t, 1000), ',', 1000000)",
    'concat_ws(t, t, repeat(t, 1000), t)',
    "encode(repeat(t, 1000), 'hex')",
    'sha512(repeat(t, 1000))',
    'initcap(repeat(t, 1000))',
    'contains(repeat(t, 1000), t)',
    'trim(repeat(t, 1000), t)',
    'overlay(repeat(t, 1000), t, 1)',
    "json_array_length(json_extract(json, '$'), '$') + length(repeat(json, 1000))",
    'arrays_zip(range(0, n + 60000), range(0, n + 60000), lt)',
    `case when ${'case when length(repeat(t, 100)) > n then '.repeat(20)}true${' else false end'.repeat(20)} then 1 end`,
    `length(${'substr('.repeat(150)}repeat(t, 100)${', 2)'.repeat(150)})`,
    `length(${'reverse('.repeat(100)}repeat(t, 3)${')'.repeat(100)})`,
    't || t || t || t || repeat(t, 100)',
    "repeat(t, 30) like '%a%b%,%x'",
    'repeat(t, 30) = repeat(t, 31)',
    "repeat(t, 30) in ('a', 'b')",
    'cast(array_repeat(n, 1000000) as varchar[])',
  ])('%s is over it', (text) => {
    expect(run(text)?.how).toBe('over budget');
  });

  it.each([
    ['length(upper(t)) + n', 'made'],
    ["regexp_like(t, 'b$')", 'made'],
    ['array_length(array_distinct(ln))', 'made'],
  ])('%s is within it', (text, how) => {
    expect(run(text)?.how).toBe(how);
  });
});
