import { Dictionary, Field, FixedSizeList, Float32, Int32, Int64, List, Utf8 } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { ask, batchOf, column, refusal, select, typeOf } from './support.ts';

const batch = batchOf({
  l: column(new List(new Field('item', new Int64(), true)), [
    [1n, 2n, 3n],
    [],
    null,
    [2n, null, 2n],
  ]),
  v: column(new FixedSizeList(2, new Field('item', new Float32(), true)), [
    [0.1, 0.2],
    [1, 2],
    null,
    [NaN, 0],
  ]),
  tags: column(new List(new Field('item', new Utf8(), true)), [['a', 'b'], ['a'], [], null]),
  n: column(new Int32(), [1, 2, 3, null]),
  s: column(new Dictionary(new Utf8(), new Int32()), ['a', 'b', 'a', null]),
});

describe('equality of lists', () => {
  it.each([
    ['l = [1, 2, 3]', [true, false, null, false]],
    ['l <> [1, 2, 3]', [false, true, null, true]],
    ['l = [1, 2]', [false, false, null, false]],
    ['l = [3, 2, 1]', [false, false, null, false]],
    ['l = []', [false, true, null, false]],
    ['l = [2, null, 2]', [false, false, null, true]],
    ['l = l', [true, true, null, true]],
    ['l = null', [null, null, null, null]],
    ['[1, 2, 3] = l', [true, false, null, false]],
    ['l = [1.0, 2.0, 3.0]', [true, false, null, false]],
    ['l = [1.5, 2, 3]', [false, false, null, false]],
    ['l is distinct from [1, 2, 3]', [false, true, true, true]],
    ['l is not distinct from [1, 2, 3]', [true, false, false, false]],
    ['l is not distinct from null', [false, false, true, false]],
    ['l in ([1, 2, 3], [])', [true, true, null, false]],
    ['l not in ([1, 2, 3])', [false, true, null, true]],
    ['v = [0.1, 0.2]', [true, false, null, false]],
    ['[1, 2] = v', [false, true, null, false]],
    ['v = v', [true, true, null, true]],
    ["tags = ['a', 'b']", [true, false, false, null]],
    ['tags = [s]', [false, false, false, null]],
    ['[n, 2] = [1, n + 1]', [true, false, false, false]],
    ["case l when [1, 2, 3] then 'x' end", ['x', null, null, null]],
  ])('%s', (text, values) => {
    expect(ask(text, batch)).toEqual(values);
  });

  it('compares many long lists', () => {
    const long = Array.from({ length: 5000 }, (_, at) => BigInt(at));
    const other = [...long.slice(0, -1), -1n];
    const type = new List(new Field('item', new Int64(), true));
    const lists = batchOf({
      l: column(
        type,
        Array.from({ length: 60 }, (_, at) => (at % 3 === 0 ? long : other)),
      ),
    });
    const expected = Array.from({ length: 20 }, (_, at) => at * 3);
    expect(select(`l = [${long.join(', ')}]`, lists)).toEqual(expected);
  });

  it.each([
    ["l = ['a']", 'list<int64> and list<string>', 3],
    ['l = 1', 'list<int64> and int64', 3],
    ['l = [[1]]', 'list<int64> and list<list<int64>>', 3],
    ['l in ([1], 2)', 'list<int64> and int64', 3],
  ])('%s is refused', (text, found, position) => {
    expect(refusal(text, batch)).toBe(
      `type: expected two values that compare with each other, found ${found}, at position ${position}`,
    );
  });
});

describe('values of lists', () => {
  it.each([
    ['array_position(l, 2)', 'Uint64', [2n, null, null, 1n]],
    ['array_position(l, 2, 2)', 'Uint64', [2n, null, null, 3n]],
    ['array_position(l, 2, 9)', 'Uint64', [null, null, null, null]],
    ['list_position(l, null)', 'Uint64', [null, null, null, 2n]],
    ['array_position(l, n)', 'Uint64', [1n, null, null, 2n]],
    ['array_position(l, 2, n)', 'Uint64', [2n, null, null, null]],
    ['array_position(null, 2)', 'Uint64', [null, null, null, null]],
    ["array_indexof(tags, 'b')", 'Uint64', [2n, null, null, null]],
    ['array_slice(l, 2, 3)', 'List<Int64>', [[2n, 3n], [], null, [null, 2n]]],
    ['array_slice(l, -2, -1)', 'List<Int64>', [[2n, 3n], [], null, [null, 2n]]],
    ['array_slice(l, 0, 2)', 'List<Int64>', [[1n, 2n], [], null, [2n, null]]],
    ['array_slice(l, -10, 2)', 'List<Int64>', [[1n, 2n], [], null, [2n, null]]],
    ['array_slice(l, 2, -10)', 'List<Int64>', [[], [], null, []]],
    ['array_slice(l, 3, 2)', 'List<Int64>', [[], [], null, []]],
    ['array_slice(l, 9223372036854775807, 9)', 'List<Int64>', [[], [], null, []]],
    ['list_slice(l, n, 2)', 'List<Int64>', [[1n, 2n], [], null, null]],
    ['array_slice(v, 2, 2)', 'List<Float32>', [[Math.fround(0.2)], [2], null, [0]]],
    ["array_to_string(l, ',')", 'Utf8', ['1,2,3', '', null, '2,2']],
    ["array_to_string(l, ', ', '-')", 'Utf8', ['1, 2, 3', '', null, '2, -, 2']],
    ["array_to_string(l, ',', null)", 'Utf8', ['1,2,3', '', null, '2,2']],
    ["list_to_string(v, ';')", 'Utf8', ['0.1;0.2', '1.0;2.0', null, 'NaN;0.0']],
    ['array_join(tags, s)', 'Utf8', ['aab', 'a', '', null]],
    ["list_join(null, ',')", 'Utf8', [null, null, null, null]],
  ])('%s', (text, type, values) => {
    expect(typeOf(text, batch)).toBe(type);
    expect(ask(text, batch)).toEqual(values);
  });

  it.each([
    [
      'array_position(n, 1)',
      'type: expected a list of values as argument 1 of array_position(list, value[, start]), found int32, at position 16',
    ],
    [
      "array_position(l, 'a')",
      "type: expected a value of the list's type as argument 2 of array_position(list, value[, start]), found string, at position 19",
    ],
    [
      'array_position(l, 1, 0)',
      'value: expected a start of 1 or more in array_position, found 0, at position 1',
    ],
    [
      "array_slice(l, 'a', 1)",
      'type: expected an integer as argument 2 of array_slice(list, from, to[, stride]), found string, at position 16',
    ],
    [
      'array_slice(l, 1)',
      'type: expected array_slice(list, from, to[, stride]), found 2 arguments, at position 1',
    ],
    [
      'array_to_string(l, 1)',
      'type: expected a string as argument 2 of array_to_string(list, separator[, null]), found int64, at position 20',
    ],
    [
      "array_to_string(l, repeat('x', 60000000))",
      'limit: expected at most 67108864 characters from array_to_string, found more, at position 1',
    ],
  ])('%s is refused', (text, message) => {
    expect(refusal(text, batch)).toBe(message);
  });
});
