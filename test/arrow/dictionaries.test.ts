import {
  Dictionary,
  Field,
  Int16,
  Int32,
  Int8,
  List,
  Struct,
  Utf8,
  vectorFromArray,
  type Vector,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { batchOfData, dataOf } from '../../src/arrow/data.ts';
import { remap, unifyDictionaries } from '../../src/arrow/dictionaries.ts';
import { schemaOf } from '../../src/arrow/nested-type.ts';
import { concat } from '../../src/arrow/select.ts';
import { fixture, plainRows, readStream, refused } from './support.ts';

const type = new Dictionary(new Utf8(), new Int8());
const words = (...values: (string | null)[]): Vector => vectorFromArray(values, new Utf8());

describe('joining dictionaries', () => {
  it('keeps each value once, in the order in which they come', () => {
    const { dictionary, maps } = unifyDictionaries(
      [words('red', 'blue'), words('blue', 'green', 'red'), words('red', 'blue')],
      type,
    );
    expect(dictionary.toJSON()).toEqual(['red', 'blue', 'green']);
    expect(maps.map((map) => [...map])).toEqual([
      [0, 1],
      [1, 2, 0],
      [0, 1],
    ]);
  });

  it('tells null, empty and alike values apart', () => {
    const { dictionary, maps } = unifyDictionaries([words('', null), words(null, '', '-')], type);
    expect(dictionary.toJSON()).toEqual(['', null, '-']);
    expect(maps.map((map) => [...map])).toEqual([
      [0, 1],
      [1, 0, 2],
    ]);
  });

  it('compares nested values by what stands in them', () => {
    const item = new Struct([new Field('a', new Utf8(), true), new Field('b', new Utf8(), true)]);
    const lists = new List(new Field('item', item, true));
    const first = vectorFromArray([[{ a: 'x', b: 'yz' }], [{ a: 'xy', b: 'z' }], []], lists);
    const second = vectorFromArray([[], [{ a: 'x', b: 'yz' }], [{ a: 'x', b: null }]], lists);
    const { dictionary, maps } = unifyDictionaries(
      [first, second],
      new Dictionary(lists, new Int8()),
    );
    expect(dictionary.length).toBe(4);
    expect(maps.map((map) => [...map])).toEqual([
      [0, 1, 2],
      [2, 0, 3],
    ]);
  });

  it('refuses more values than indices can tell apart', () => {
    const numbers = (start: number, count: number): Vector =>
      vectorFromArray(
        Array.from({ length: count }, (_, at) => start + at),
        new Int32(),
      );
    const small = new Dictionary(new Int32(), new Int8());
    expect(unifyDictionaries([numbers(0, 100), numbers(28, 100)], small).dictionary.length).toBe(
      128,
    );
    expect(refused(() => unifyDictionaries([numbers(0, 100), numbers(29, 100)], small))).toBe(
      'limit: A joint dictionary would have 129 values, its index type Int8 can hold 128.',
    );
  });

  it('leads the indices of a batch into the new dictionary', () => {
    const wide = new Dictionary(new Utf8(), new Int16());
    const schema = schemaOf([new Field('c', wide, true)]);
    const values = Int16Array.of(1, 99, 0);
    const dictionary = words('blue', 'red');
    const parts = { length: 3, nullCount: 1, validity: Uint8Array.of(0b101), values, dictionary };
    const batch = batchOfData(schema, [dataOf(wide, parts)], 3);
    const joint = unifyDictionaries([words('red', 'green', 'blue'), dictionary], wide);
    const moved = remap(batch, 'c', joint.maps[1]!, joint.dictionary);
    expect(plainRows([moved])).toEqual(plainRows([batch]));
    expect(moved.data.children[0]?.dictionary).toBe(joint.dictionary);
    const numbers = batchOfData(
      schemaOf([new Field('n', new Int8())]),
      [dataOf(new Int8(), { length: 0, nullCount: 0, values: new Int8Array(0) })],
      0,
    );
    expect(refused(() => remap(numbers, 'n', joint.maps[0]!, joint.dictionary))).toBe(
      'mismatch: Column "n" has no dictionary.',
    );
  });

  it('happens when batches of two streams are put together', async () => {
    const first = await readStream(fixture('nested'));
    const second = await readStream(fixture('nested-lz4'));
    const batches = [...first.batches, ...second.batches];
    expect(plainRows([concat(batches)])).toEqual(plainRows(batches));
  });
});
