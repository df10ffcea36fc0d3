import { describe, expect, it } from 'vitest';
import { parseQueryRequest } from '../../../src/engine/request/request.ts';
import { CatalogError } from '../../../src/protocol/errors.ts';
import { parseJson, type JsonValue } from '../../../src/protocol/json.ts';

type Body = { [key: string]: JsonValue };

function parsed(text: string) {
  return parseQueryRequest(parseJson(text) as Body);
}

const nothing = {
  columns: null,
  filter: null,
  prefilter: true,
  nearest: null,
  text: null,
  order: [],
  limit: null,
  offset: 0,
  withRowId: false,
};

describe('the body of a query', () => {
  it('asks for everything when it is empty', () => {
    expect(parsed('{}')).toEqual(nothing);
  });

  it('is read in the form of the LanceDB client', () => {
    const body = `{"k":5,"prefilter":false,"vector":[],"offset":2,"filter":"id > 1",
      "columns":["a","b"],"with_row_id":true,"fast_search":true,"use_lsm":false,"branch":"main"}`;
    expect(parsed(body)).toEqual({
      ...nothing,
      columns: [
        { kind: 'column', name: 'a' },
        { kind: 'column', name: 'b' },
      ],
      filter: 'id > 1',
      prefilter: false,
      limit: 5,
      offset: 2,
      withRowId: true,
    });
  });

  it('is read in the form of the namespace client', () => {
    const body = `{"k":-1,"vector":{"single_vector":[]},"bypass_vector_index":true,
      "columns":{"column_aliases":{"twice":"id * 2"}},"id":["a"],"context":{"x":"y"}}`;
    expect(parsed(body)).toEqual({
      ...nothing,
      columns: [{ kind: 'expression', name: 'twice', text: 'id * 2' }],
    });
  });

  it('means the same with null as without the key', () => {
    const names = ['columns', 'filter', 'prefilter', 'vector', 'order_by', 'k', 'offset'];
    const more = ['with_row_id', 'lower_bound', 'upper_bound', 'ef', 'nprobes', 'full_text_query'];
    const body = Object.fromEntries([...names, ...more].map((name) => [name, null]));
    expect(parseQueryRequest(body)).toEqual(nothing);
  });

  it('may search for words', () => {
    const { text, limit } = parsed('{"full_text_query":{"query":"a"},"fast_search":true}');
    expect([text?.query.kind, text?.fastSearch, limit]).toEqual(['match', true, 10]);
  });

  it('cannot be changed afterwards', () => {
    expect(Object.isFrozen(parsed('{}'))).toBe(true);
  });
});

describe('the field k', () => {
  const limits: readonly (readonly [string, number | null])[] = [
    ['9223372036854775807', null],
    ['9223372036854775808', null],
    ['9007199254740992', null],
    ['9007199254740991', 9007199254740991],
    ['-1', null],
    ['1', 1],
    ['2.0', 2],
  ];
  it.each(limits)('%s is a limit of %s', (k, limit) => {
    expect(parsed(`{"k":${k}}`).limit).toBe(limit);
  });

  it('is ten for a search that says nothing of it', () => {
    expect(parsed('{"vector":[1]}').limit).toBe(10);
    expect(parsed('{"vector":[1],"k":9223372036854775807}').limit).toBeNull();
  });
});

describe('the field vector', () => {
  const forms: readonly (readonly [string, boolean, readonly (readonly number[])[]])[] = [
    ['[1, 2]', false, [[1, 2]]],
    ['[[1, 2], [3, 4]]', true, [[1, 2], [3, 4]]], // prettier-ignore
    ['[[1]]', true, [[1]]],
    ['{"single_vector": [1, 2]}', false, [[1, 2]]],
    ['{"single_vector": null, "multi_vector": [[1], [2]]}', true, [[1], [2]]],
    ['[9007199254740993]', false, [[9007199254740992]]],
  ];
  it.each(forms)('may be %s', (text, batch, vectors) => {
    const { nearest } = parsed(`{"vector":${text}}`);
    expect(nearest?.batch).toBe(batch);
    expect(nearest?.vectors.map((vector) => [...vector])).toEqual(vectors);
  });

  it.each(['null', '[]', '{}', '{"single_vector":[]}', '{"multi_vector":[]}'])(
    'asks for no search as %s',
    (text) => {
      expect(parsed(`{"vector":${text},"distance_type":"cosine"}`).nearest).toBeNull();
    },
  );

  it('holds 32-bit floats in the text of their 64-bit form', () => {
    const { nearest } = parsed('{"vector":[0.10000000149011612]}');
    expect(nearest?.vectors[0]?.[0]).toBe(Math.fround(0.1));
  });

  it('comes with a metric, bounds and a column', () => {
    const body = `{"vector":[1],"distance_type":"COSINE","lower_bound":0,"upper_bound":0.5,
      "vector_column":"emb","nprobes":20,"refine_factor":3,"maximum_nprobes":0}`;
    expect(parsed(body).nearest).toMatchObject({
      metric: 'cosine',
      lowerBound: 0,
      upperBound: 0.5,
      column: 'emb',
    });
  });
});

describe('the field columns', () => {
  it.each(['null', '{}', '{"column_names":null}', '{"column_names":null,"column_aliases":null}'])(
    'asks for all columns as %s',
    (text) => {
      expect(parsed(`{"columns":${text}}`).columns).toBeNull();
    },
  );

  it('may name no column at all', () => {
    expect(parsed('{"columns":[]}').columns).toEqual([]);
    expect(parsed('{"columns":{"column_names":[]}}').columns).toEqual([]);
  });

  it('may have an alias that is called like a wrapper', () => {
    expect(parsed('{"columns":{"column_names":"id"}}').columns).toEqual([
      { kind: 'expression', name: 'column_names', text: 'id' },
    ]);
  });
});

describe('the field order_by', () => {
  it('sorts nulls last going up and first going down, unless told', () => {
    const body = `{"order_by":[{"column_name":"a"},{"column_name":"b","ascending":false},
      {"column_name":"c","ascending":false,"nulls_first":false}]}`;
    expect(parsed(body).order).toEqual([
      { column: 'a', ascending: true, nullsFirst: false },
      { column: 'b', ascending: false, nullsFirst: true },
      { column: 'c', ascending: false, nullsFirst: false },
    ]);
  });
});

describe('a body that is refused', () => {
  const refusals: readonly (readonly [string, string, string])[] = [
    ['{"k":-2}', 'InvalidInput', 'k must be at least 0, not -2'],
    ['{"k":1.5}', 'InvalidInput', 'k must be a whole number, not the number 1.5'],
    ['{"k":"5"}', 'InvalidInput', 'k must be a whole number, not a string'],
    ['{"offset":-1}', 'InvalidInput', 'offset must be at least 0, not -1'],
    ['{"offset":true}', 'InvalidInput', 'offset must be a whole number, not true'],
    ['{"filter":5}', 'InvalidInput', 'filter must be a string, not the number 5'],
    ['{"prefilter":"yes"}', 'InvalidInput', 'prefilter must be true or false, not a string'],
    ['{"with_row_id":1}', 'InvalidInput', 'with_row_id must be true or false, not the number 1'],
    ['{"use_lsm":[]}', 'InvalidInput', 'use_lsm must be true or false, not a list'],
    ['{"nprobes":{}}', 'InvalidInput', 'nprobes must be a whole number, not an object'],
    ['{"lower_bound":"0"}', 'InvalidInput', 'lower_bound must be a number, not a string'],
    ['{"vector":"[1]"}', 'InvalidInput', 'vector must be a list or an object, not a string'],
    ['{"vector":[1,null]}', 'InvalidInput', 'vector[1] must be a number, not null'],
    ['{"vector":[1,[2]]}', 'InvalidInput', 'vector[1] must be a number, not a list'],
    ['{"vector":[[1],2]}', 'InvalidInput', 'vector[1] must be a list of numbers, not the number 2'],
    ['{"vector":[1e39]}', 'InvalidInput', 'vector[0] must be a 32-bit float, not 1e+39'],
    [
      '{"vector":{"multi_vector":[[1],["a"]]}}',
      'InvalidInput',
      'vector.multi_vector[1][0] must be a number, not a string',
    ],
    [
      '{"vector":{"single_vector":5}}',
      'InvalidInput',
      'vector.single_vector must be a list, not the number 5',
    ],
    [
      '{"vector":{"single_vector":[1],"multi_vector":[[1]]}}',
      'InvalidInput',
      'vector must be single_vector or multi_vector, not both',
    ],
    [
      `{"vector":[${Array(10_001).fill('[1]').join(',')}]}`,
      'InvalidInput',
      'vector must be at most 10000 vectors, not 10001',
    ],
    ['{"columns":"a"}', 'InvalidInput', 'columns must be a list or an object, not a string'],
    ['{"columns":["a",1]}', 'InvalidInput', 'columns[1] must be a string, not the number 1'],
    [
      '{"columns":{"a":1}}',
      'InvalidInput',
      'columns.a must be an expression in a string, not the number 1',
    ],
    [
      '{"columns":{"column_names":["a"],"column_aliases":{"a":"b"}}}',
      'InvalidInput',
      'columns must be column_names or column_aliases, not both',
    ],
    [
      '{"columns":{"column_names":{"a":"b"}}}',
      'InvalidInput',
      'columns.column_names must be a list of names, not an object',
    ],
    [
      '{"distance_type":"manhattan"}',
      'InvalidInput',
      'distance_type must be "l2", "cosine", "dot" or "hamming", not "manhattan"',
    ],
    ['{"order_by":{}}', 'InvalidInput', 'order_by must be a list, not an object'],
    ['{"order_by":["a"]}', 'InvalidInput', 'order_by[0] must be an object, not a string'],
    ['{"order_by":[{}]}', 'InvalidInput', 'order_by[0].column_name must be a string, not null'],
    [
      '{"order_by":[{"column_name":"a","ascending":1}]}',
      'InvalidInput',
      'order_by[0].ascending must be true or false, not the number 1',
    ],
    [
      '{"vector":[1],"full_text_query":{"query":"puppy"}}',
      'InvalidInput',
      'a query searches for vectors or for words: send vector and full_text_query in two queries and merge their answers',
    ],
  ];
  it.each(refusals)('%s', (body, name, sentence) => {
    const refusal = refusalOf(() => parsed(body));
    expect([refusal.row.name, refusal.message]).toEqual([name, sentence]);
  });
});

function refusalOf(work: () => unknown): CatalogError {
  try {
    work();
  } catch (error) {
    if (error instanceof CatalogError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}
