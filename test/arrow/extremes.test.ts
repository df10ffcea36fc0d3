import {
  Binary,
  Bool,
  Decimal,
  Dictionary,
  Field,
  FixedSizeBinary,
  Float32,
  Int16,
  Int32,
  Int64,
  LargeUtf8,
  Schema,
  Uint64,
  Utf8,
  Vector,
  vectorFromArray,
  type DataType,
} from 'apache-arrow';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bitmapBytes } from '../../src/arrow/bitmap.ts';
import { dataOf } from '../../src/arrow/data.ts';
import { extremesOf, mergeExtremes } from '../../src/arrow/extremes.ts';
import { batchOf, slice, take } from '../../src/arrow/select.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 40 });
const bytes = (maxLength: number, minLength = 0) => fc.uint8Array({ minLength, maxLength });

/** Types with values of theirs. */
const kinds: readonly (readonly [string, DataType, fc.Arbitrary<unknown>])[] = [
  ['int16', new Int16(), fc.integer({ min: -32_768, max: 32_767 })],
  ['int64', new Int64(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })],
  ['uint64', new Uint64(), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })],
  ['float32', new Float32(), fc.float()],
  ['bool', new Bool(), fc.boolean()],
  ['utf8', new Utf8(), text],
  ['large utf8', new LargeUtf8(), text],
  ['dictionary', new Dictionary(new Utf8(), new Int32()), text],
  ['binary', new Binary(), bytes(40)],
  ['fixed binary', new FixedSizeBinary(3), bytes(3, 3)],
];

function vectorOf(type: DataType, values: readonly unknown[]): Vector {
  return vectorFromArray(values, type);
}

describe('the extremes of a column', () => {
  it.each(kinds)('of %s are those of its rows, wherever it begins in memory', (_, type, value) => {
    const some = fc.array(fc.option(value, { nil: null, freq: 3 }), {
      minLength: 1,
      maxLength: 30,
    });
    fc.assert(
      fc.property(some, fc.nat(29), fc.nat(30), (values, from, length) => {
        const vector = vectorOf(type, values);
        const batch = batchOf(new Schema([new Field('c', type, true)]), [vector], values.length);
        const start = from % values.length;
        const count = Math.min(length, values.length - start);
        const rows = Uint32Array.from({ length: count }, (__, at) => start + at);
        const [part] = slice(batch, start, count).data.children;
        const [copy] = take(batch, rows).data.children;
        expect(extremesOf(part!)).toEqual(extremesOf(copy!));
      }),
    );
  });

  it.each(kinds)('of %s are merged as if all rows were one column', (_, type, value) => {
    const some = fc.array(fc.option(value, { nil: null, freq: 3 }), { minLength: 1, maxLength: 9 });
    fc.assert(
      fc.property(some, some, (left, right) => {
        const [one, other] = [left, right].map((values) => vectorOf(type, values).data[0]!);
        const both = vectorOf(type, [...left, ...right]).data[0]!;
        expect(mergeExtremes(extremesOf(one!)!, extremesOf(other!)!)).toEqual(extremesOf(both));
      }),
    );
  });

  it('of decimals of any width are exact', () => {
    const widths = fc.constantFrom(128, 256);
    fc.assert(
      fc.property(widths, fc.array(fc.bigInt(), { minLength: 1, maxLength: 9 }), (width, all) => {
        const values = all.map((value) => BigInt.asIntN(width, value << 40n));
        const words = values.flatMap((value) =>
          Array.from({ length: width / 32 }, (_, word) =>
            Number(BigInt.asUintN(32, value >> BigInt(32 * word))),
          ),
        );
        const type = new Decimal(0, 38, width);
        const validity = new Uint8Array(bitmapBytes(values.length)).fill(255);
        const parts = { length: values.length, nullCount: 0, validity };
        const vector = new Vector([dataOf(type, { ...parts, values: Uint32Array.from(words) })]);
        const sorted = values.toSorted((left, right) => (left < right ? -1 : left > right ? 1 : 0));
        const bounds = { least: sorted[0], greatest: sorted.at(-1) };
        expect(extremesOf(vector.data[0]!)?.bounds).toEqual(bounds);
      }),
    );
  });

  it('count what stands under a null for nothing', () => {
    const values = Int32Array.of(-100, 5, 100);
    const validity = Uint8Array.of(0b010);
    const data = dataOf(new Int32(), { length: 3, nullCount: 2, validity, values });
    expect(extremesOf(data)).toEqual({
      rows: 3,
      nulls: 2,
      nan: false,
      bounds: { least: 5n, greatest: 5n },
    });
  });

  it('count the null of a dictionary as one', () => {
    const dictionary = vectorFromArray(['a', null, 'b'], new Utf8());
    const type = new Dictionary(new Utf8(), new Int32());
    const values = Int32Array.of(1, 0, 1);
    const data = dataOf(type, { length: 3, nullCount: 0, values, dictionary });
    expect(extremesOf(data)).toEqual({
      rows: 3,
      nulls: 2,
      nan: false,
      bounds: { least: Uint8Array.of(97), greatest: Uint8Array.of(97) },
    });
  });
});

describe('bounds of bytes in memory that is shared', () => {
  it('leave the values as they are', () => {
    // What makes texts of bytes hands on buffers, whose `slice` copies nothing.
    const values = Buffer.from('a'.repeat(40));
    const data = dataOf(new Utf8(), {
      length: 1,
      nullCount: 0,
      values,
      offsets: Int32Array.of(0, 40),
    });
    const bounds = extremesOf(data)?.bounds;
    expect(bounds?.least).toEqual(new Uint8Array(Buffer.from('a'.repeat(32))));
    expect(bounds?.greatest).toEqual(new Uint8Array(Buffer.from(`${'a'.repeat(31)}b`)));
    expect(values.toString()).toBe('a'.repeat(40));
    values.fill(0);
    expect(bounds?.least).toEqual(new Uint8Array(Buffer.from('a'.repeat(32))));
  });
});
