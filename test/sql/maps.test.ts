import { Field, Int32, Int64, List, Map_, Struct, Utf8, vectorFromArray } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { bindAssignment } from '../../src/sql/assign.ts';
import { evaluate } from '../../src/sql/evaluate.ts';
import { parseExpression } from '../../src/sql/parse.ts';
import { ask, batchOf, column, refusal, select, typeOf } from './support.ts';

const type = new Map_(
  new Field(
    'entries',
    new Struct<{ key: Utf8; value: Int32 }>([
      new Field('key', new Utf8(), false),
      new Field('value', new Int32(), true),
    ]),
    false,
  ),
);

const batch = batchOf({
  m: vectorFromArray(
    [
      new Map([
        ['a', 1],
        ['b', 2],
      ]),
      null,
      new Map(),
      new Map([['b', null]]),
    ],
    type,
  ),
  t: column(new Utf8(), ['b', 'b', 'b', null]),
  n: column(new Int64(), [1n, 2n, null, 4n]),
  l: column(new List(new Field('item', new Int32(), true)), [[1, 2], null, [], [3]]),
});

/** Rows as JSON, so that lists and maps are seen. */
function shown(text: string): readonly string[] {
  return ask(text, batch).map((value) =>
    JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each)),
  );
}

describe('functions of maps', () => {
  it.each([
    ['map_keys(m)', ['["a","b"]', 'null', '[]', '["b"]']],
    ['map_values(m)', ['[1,2]', 'null', '[]', '[null]']],
    [
      'map_entries(m)',
      ['[{"key":"a","value":1},{"key":"b","value":2}]', 'null', '[]', '[{"key":"b","value":null}]'],
    ],
    ["map_extract(m, 'b')", ['[2]', '[null]', '[null]', '[null]']],
    ["element_at(m, 'a')", ['[1]', '[null]', '[null]', '[null]']],
    ["m['b']", ['2', 'null', 'null', 'null']],
    ['m[t]', ['2', 'null', 'null', 'null']],
    ["map_contains_key(m, 'b')", ['true', 'null', 'false', 'true']],
    ['map_contains_key(m, t)', ['true', 'null', 'false', 'null']],
    ['cardinality(m)', ['"2"', 'null', '"0"', '"1"']],
    [
      "make_map('x', n, 'y', 0)",
      ['{"x":"1","y":"0"}', '{"x":"2","y":"0"}', '{"x":null,"y":"0"}', '{"x":"4","y":"0"}'],
    ],
    ["map(['x', 'y'], [n, 5])['y']", ['"5"', '"5"', '"5"', '"5"']],
    [
      "coalesce(m, make_map('z', cast(9 as int)))",
      ['{"a":1,"b":2}', '{"z":9}', '{}', '{"b":null}'],
    ],
    ['case when n = 1 then m end', ['{"a":1,"b":2}', 'null', 'null', 'null']],
    [
      'arrays_zip(l, [7])',
      [
        '[{"c0":1,"c1":"7"},{"c0":2,"c1":null}]',
        '[{"c0":null,"c1":"7"}]',
        '[{"c0":null,"c1":"7"}]',
        '[{"c0":3,"c1":"7"}]',
      ],
    ],
    ['arrays_zip(l, l)', ['[{"c0":1,"c1":1},{"c0":2,"c1":2}]', 'null', '[]', '[{"c0":3,"c1":3}]']],
    ['arrays_overlap(l, [2])', ['true', 'null', 'false', 'false']],
    ['is_valid(m)', ['true', 'false', 'true', 'true']],
    ['array_extract(l, 1)', ['1', 'null', 'null', '3']],
  ])('%s', (text, rows) => {
    expect(shown(text)).toEqual(rows);
  });

  it('have types', () => {
    expect(typeOf('map_keys(m)', batch)).toBe('List<Utf8>');
    expect(typeOf("m['a']", batch)).toBe('Int32');
    expect(ask('arrow_typeof(m)', batch)[0]).toBe(
      'Map("entries": non-null Struct("key": non-null Utf8, "value": Int32), unsorted)',
    );
  });

  it('compare entry by entry', () => {
    expect(select('m = m', batch)).toEqual([0, 2, 3]);
    expect(select("m = make_map('b', null)", batch)).toEqual([3]);
    expect(select("m <> make_map('b', 0)", batch)).toEqual([0, 2, 3]);
  });

  it('refuse keys that come twice or are null, and lists of two lengths', () => {
    expect(refusal("make_map('a', 1, 'a', n)", batch)).toBe(
      'value: expected different keys in make_map, found one twice, at position 1',
    );
    expect(refusal('make_map(t, n)', batch)).toBe(
      'value: expected different keys in make_map, found a null, at position 1',
    );
    expect(refusal('map([t], l)', batch)).toBe(
      'value: expected as many values as keys in map, found 1 keys and 2 values, at position 1',
    );
    expect(refusal('m < n', batch)).toBe(
      'type: expected two values that compare with each other, found map<string, int32> and int64, at position 3',
    );
  });

  it('give a column its values, whole numbers as narrow as it is', () => {
    const bound = bindAssignment(
      parseExpression("make_map('k', n)"),
      { fields: batch.schema.fields },
      type,
    );
    const written = evaluate(bound, batch);
    expect(String(written.type)).toBe(String(type));
    expect(Array.from(written, (map) => JSON.stringify(map))).toEqual([
      '{"k":1}',
      '{"k":2}',
      '{"k":null}',
      '{"k":4}',
    ]);
  });
});
