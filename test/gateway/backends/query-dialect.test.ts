import { describe, expect, it } from 'vitest';
import { inLanceDb, inNamespace } from '../../../src/gateway/backends/query-dialect.ts';

describe('A query of LanceDB in the namespace dialect', () => {
  it.each([
    [
      { vector: [], k: 5 },
      { vector: { single_vector: [] }, k: 5 },
    ],
    [{ k: 1 }, { vector: { single_vector: [] }, k: 1 }],
    [
      { vector: [1, 2], k: 5 },
      { vector: { single_vector: [1, 2] }, k: 5 },
    ],
    [
      { vector: [[1], [2]], k: 5 },
      { vector: { multi_vector: [[1], [2]] }, k: 5 },
    ],
    [
      { vector: { single_vector: [1] }, k: 5 },
      { vector: { single_vector: [1] }, k: 5 },
    ],
    [
      { vector: [], k: 2n ** 63n - 1n, version: null },
      { vector: { single_vector: [] }, k: 2 ** 31 - 1 },
    ],
    [{ vector: [] }, { vector: { single_vector: [] }, k: 2 ** 31 - 1 }],
    [
      { vector: [], k: 1, columns: ['a'] },
      { vector: { single_vector: [] }, k: 1, columns: { column_names: ['a'] } },
    ],
    [
      { vector: [], k: 1, columns: { a: 'b + 1' } },
      { vector: { single_vector: [] }, k: 1, columns: { column_aliases: { a: 'b + 1' } } },
    ],
    [
      { vector: [], k: 1, columns: { column_names: ['a'] } },
      { vector: { single_vector: [] }, k: 1, columns: { column_names: ['a'] } },
    ],
    [
      { vector: [], k: 1, full_text_query: { columns: [], query: 'puppy' } },
      {
        vector: { single_vector: [] },
        k: 1,
        full_text_query: { string_query: { query: 'puppy' } },
      },
    ],
    [
      { vector: [], k: 1, full_text_query: { query: { match: { terms: 'puppy' } } } },
      {
        vector: { single_vector: [] },
        k: 1,
        full_text_query: { structured_query: { query: { match: { terms: 'puppy' } } } },
      },
    ],
    [
      { vector: [], k: 1, filter: 'a > 1', unheard: true, order_by: [] },
      { vector: { single_vector: [] }, k: 1, filter: 'a > 1', unheard: true },
    ],
  ])('case %#', (query, expected) => {
    expect(inNamespace(query)).toEqual(expected);
  });

  it('has no order', () => {
    expect(() => inNamespace({ vector: [], order_by: [{ column_name: 'a' }] })).toThrow(
      'order_by has no form in the namespace dialect, which is all that the backend understands',
    );
  });
});

describe('A query of the specification in the LanceDB dialect', () => {
  it.each([
    [
      { vector: {}, k: 5 },
      { vector: [], k: 5 },
    ],
    [
      { vector: { single_vector: [1, 2] }, k: 5 },
      { vector: [1, 2], k: 5 },
    ],
    [
      { vector: { multi_vector: [[1], [2]] }, k: 5 },
      { vector: [[1], [2]], k: 5 },
    ],
    [
      { vector: { single_vector: [1], multi_vector: null }, columns: { column_names: ['a'] } },
      { vector: [1], columns: ['a'] },
    ],
    [{ columns: { column_aliases: { a: 'b' } } }, { vector: [], columns: { a: 'b' } }],
    [
      { full_text_query: { string_query: { query: 'puppy', columns: ['a'] } } },
      { vector: [], full_text_query: { query: 'puppy', columns: ['a'] } },
    ],
    [
      { full_text_query: { structured_query: { query: { match: { terms: 'x' } } } } },
      { vector: [], full_text_query: { query: { match: { terms: 'x' } } } },
    ],
  ])('case %#', (query, expected) => {
    expect(inLanceDb(query)).toEqual(expected);
  });
});
