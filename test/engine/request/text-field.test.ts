import { describe, expect, it } from 'vitest';
import { CatalogError } from '../../../src/protocol/errors.ts';
import { parseJson } from '../../../src/protocol/json.ts';
import type { Fields } from '../../../src/engine/base/fields.ts';
import { fullTextField } from '../../../src/engine/request/text-field.ts';

const parsed = (text: string) => fullTextField({ full_text_query: parseJson(text) });

const match = {
  kind: 'match',
  column: null,
  terms: 'a',
  boost: 1,
  fuzziness: 0,
  maxExpansions: 50,
  all: false,
  prefixLength: 0,
};

describe('a full-text query', () => {
  it.each<[string, unknown]>([
    ['null', null],
    ['{"query":"a"}', match],
    ['{"query":"a","columns":[]}', match],
    ['{"string_query":{"query":"a","columns":["x"]}}', { ...match, column: 'x' }],
    [
      '{"query":"a","columns":["x","y"]}',
      {
        kind: 'best',
        queries: [
          { ...match, column: 'x' },
          { ...match, column: 'y' },
        ],
      },
    ],
    ['{"structured_query":{"query":{"match":{"terms":"a"}}}}', match],
    [
      '{"query":{"match":{"column":"x","terms":"a","boost":2,"fuzziness":null,"max_expansions":3,"operator":"And","prefix_length":1}}}',
      {
        ...match,
        column: 'x',
        boost: 2,
        fuzziness: null,
        maxExpansions: 3,
        all: true,
        prefixLength: 1,
      },
    ],
    [
      '{"query":{"phrase":{"terms":"a b","slop":2,"column":null}}}',
      { kind: 'phrase', column: null, terms: 'a b', slop: 2 },
    ],
    [
      '{"query":{"boost":{"positive":{"match":{"terms":"a"}},"negative":{"phrase":{"terms":"b"}}}}}',
      {
        kind: 'boost',
        positive: match,
        negative: { kind: 'phrase', column: null, terms: 'b', slop: 0 },
        negativeBoost: 0.5,
      },
    ],
    [
      '{"query":{"multi_match":{"query":"a","columns":["x","y"],"boost":[1,3]}}}',
      {
        kind: 'best',
        queries: [
          { ...match, column: 'x' },
          { ...match, column: 'y', boost: 3 },
        ],
      },
    ],
    ['{"query":{"multi_match":{"match_queries":[{"terms":"a"}]}}}', match],
    [
      '{"query":{"boolean":{"must":[{"match":{"terms":"a"}}],"should":[],"must_not":[{"match":{"terms":"a"}}]}}}',
      { kind: 'boolean', must: [match], should: [], mustNot: [match] },
    ],
  ])('%s', (text, query) => {
    expect(parsed(text)).toEqual(query);
  });

  it('need not be there', () => {
    expect(fullTextField({} satisfies Fields)).toBeNull();
  });
});

describe('a full-text query that is refused', () => {
  const structure =
    'full_text_query.query must be an object with one of match, phrase, boost, multi_match and boolean';
  it.each([
    ['"a"', 'full_text_query must be an object, not a string'],
    ['{}', 'full_text_query.query must be given, not null'],
    ['{"query":1}', 'full_text_query.query must be an object, not the number 1'],
    ['{"query":{}}', `${structure}, not 0 fields`],
    ['{"query":{"fuzzy":{}}}', `${structure}, not another one`],
    ['{"query":{"match":{"terms":"a"},"phrase":{"terms":"a"}}}', `${structure}, not 2 fields`],
    ['{"query":{"match":{}}}', 'full_text_query.query.match.terms must be given, not null'],
    [
      '{"query":{"match":{"terms":"a","operator":"Xor"}}}',
      'full_text_query.query.match.operator must be "Or" or "And", not "Xor"',
    ],
    [
      '{"query":{"match":{"terms":"a","fuzziness":9}}}',
      'full_text_query.query.match.fuzziness must be at most 8, not 9',
    ],
    [
      '{"query":{"match":{"terms":"a","boost":1e300}}}',
      'full_text_query.query.match.boost must be a 32-bit float, not 1e+300',
    ],
    ['{"query":{"phrase":{"terms":"a","slop":-1}}}', 'slop must be at least 0, not -1'],
    [
      '{"query":{"multi_match":{"query":"a","columns":[]}}}',
      'full_text_query.query.multi_match.columns must be a list of columns, not none',
    ],
    [
      '{"query":{"multi_match":{"query":"a","columns":["x"],"boost":[1,2]}}}',
      'full_text_query.query.multi_match.boost must be a list of 1 numbers, not one of 2',
    ],
    [
      '{"query":{"boolean":{"must":[],"should":[],"must_not":[{"match":{"terms":"a"}}]}}}',
      'full_text_query.query.boolean must have a query in must or in should',
    ],
    [
      '{"string_query":{"query":"a"},"structured_query":{"query":{}}}',
      'full_text_query must be string_query or structured_query, not both',
    ],
    [
      '{"query":"a","columns":[1]}',
      'full_text_query.columns[0] must be a string, not the number 1',
    ],
  ])('%s', (text, message) => {
    expect(() => parsed(text)).toThrow(new CatalogError('InvalidInput', message));
  });
});
