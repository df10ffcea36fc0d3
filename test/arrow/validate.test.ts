import {
  Binary,
  Bool,
  DenseUnion,
  Dictionary,
  Field,
  FixedSizeList,
  Int32,
  Int8,
  LargeList,
  LargeUtf8,
  List,
  Null,
  SparseUnion,
  Struct,
  Utf8,
  Utf8View,
  Vector,
  type Data,
  type DataType,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { batchOfData, dataOf } from '../../src/arrow/data.ts';
import { schemaOf } from '../../src/arrow/nested-type.ts';
import { validateData } from '../../src/arrow/validate.ts';
import { refusal, refused, streamBytes } from './support.ts';

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const item = (type: DataType, nullable = true): Field => new Field('item', type, nullable);

function int32s(...values: number[]): Data {
  return dataOf(new Int32(), {
    length: values.length,
    nullCount: 0,
    values: Int32Array.from(values),
  });
}

function text(offsets: number[], values: Uint8Array): Data {
  const length = offsets.length - 1;
  return dataOf(new Utf8(), { length, nullCount: 0, offsets: Int32Array.from(offsets), values });
}

function view(words: number[], variadic: Uint8Array[] = []): Data {
  const values = new Uint8Array(Uint32Array.from(words).buffer);
  return dataOf(new Utf8View(), { length: words.length / 4, nullCount: 0, values, variadic });
}

function withNull(data: Data): Data {
  const validity = bytes(0b1111_1110);
  return dataOf(data.type, { length: data.length, nullCount: 1, validity, values: data.values });
}

function union(typeIds: number[], offsets?: number[]): Data {
  const fields = [new Field('i', new Int32(), true)];
  const type = offsets ? new DenseUnion([3], fields) : new SparseUnion([3], fields);
  const length = typeIds.length;
  const children = [int32s(...typeIds.map((_, index) => index))];
  const parts = { length, nullCount: 0, typeIds: Int8Array.from(typeIds), children };
  return dataOf(type, offsets ? { ...parts, offsets: Int32Array.from(offsets) } : parts);
}

function dictionary(...indices: number[]): Data {
  return dataOf(new Dictionary(new Utf8(), new Int8()), {
    length: indices.length,
    nullCount: 0,
    values: Int8Array.from(indices),
    dictionary: new Vector([text([0, 1, 2], bytes(97, 98))]),
  });
}

async function outcome(data: Data, nullable = true): Promise<string> {
  const schema = schemaOf([new Field('c', data.type, nullable)]);
  return await refusal(streamBytes(schema, [batchOfData(schema, [data], data.length)]));
}

const badText = 'corrupt: Column "c" has text that is not valid UTF-8.';
const badView = (row: number): string =>
  `corrupt: Row ${row} of column "c" has no sound view of its value.`;

describe('values that are refused', () => {
  const cases: readonly (readonly [string, Data, string])[] = [
    [
      'falling offsets',
      text([0, 2, 1, 3], bytes(97, 98, 99)),
      'corrupt: The offsets of column "c" fall or are negative.',
    ],
    [
      'offsets beyond the values',
      text([0, 9], bytes(97)),
      'corrupt: The offsets of column "c" lead to 9, beyond its end at 1.',
    ],
    [
      'falling 64-bit offsets',
      dataOf(new LargeUtf8(), {
        length: 2,
        nullCount: 0,
        offsets: BigInt64Array.of(0n, -1n, 1n),
        values: bytes(97),
      }),
      'corrupt: The offsets of column "c" fall or are negative.',
    ],
    ['text that is not UTF-8', text([0, 2], bytes(0xc3, 0x28)), badText],
    ['a value that begins inside a character', text([0, 1, 2], bytes(0xc3, 0xa9)), badText],
    ['an overlong character', text([0, 2], bytes(0xc0, 0x80)), badText],
    ['a lone surrogate', text([0, 3], bytes(0xed, 0xa0, 0x80)), badText],
    ['a view with a negative length', view([2 ** 32 - 1, 0, 0, 0]), badView(0)],
    ['a view without its buffer', view([0, 0, 0, 0, 20, 0, 0, 0]), badView(1)],
    ['a view beyond its buffer', view([20, 0, 0, 1], [new Uint8Array(20)]), badView(0)],
    ['a view with another prefix', view([20, 7, 0, 0], [new Uint8Array(20)]), badView(0)],
    ['a view with a dirty end', view([1, 97, 5, 0]), badView(0)],
    ['a short view that is not UTF-8', view([2, 0x28_c3, 0, 0]), badText],
    [
      'a long view that is not UTF-8',
      view([13, 0xff_ff_ff_ff, 0, 0], [new Uint8Array(13).fill(255)]),
      badText,
    ],
    [
      'an unknown type id',
      union([3, 4]),
      'corrupt: Row 1 of column "c" has the unknown type id 4.',
    ],
    ['a negative type id', union([-3]), 'corrupt: Row 0 of column "c" has the unknown type id -3.'],
    [
      'a dense union that goes back',
      union([3, 3], [1, 0]),
      `corrupt: Row 1 of column "c" leads outside the union's child or back in it.`,
    ],
    [
      'an index beyond the dictionary',
      dictionary(0, 2),
      'corrupt: Row 1 of column "c" has the dictionary index 2, the dictionary has 2 values.',
    ],
    [
      'a negative index',
      dictionary(-1),
      'corrupt: Row 0 of column "c" has the dictionary index -1, the dictionary has 2 values.',
    ],
    [
      'values inside a list',
      dataOf(new List(item(new Utf8())), {
        length: 1,
        nullCount: 0,
        offsets: Int32Array.of(0, 1),
        children: [text([0, 1], bytes(0xff))],
      }),
      'corrupt: Column "c.item" has text that is not valid UTF-8.',
    ],
    [
      'values inside a dictionary',
      dataOf(new Dictionary(new Utf8(), new Int8()), {
        length: 1,
        nullCount: 0,
        values: Int8Array.of(0),
        dictionary: new Vector([text([0, 1], bytes(0xff))]),
      }),
      'corrupt: Column "c (dictionary)" has text that is not valid UTF-8.',
    ],
    [
      'nulls of an item that is not nullable',
      dataOf(new List(item(new Int32(), false)), {
        length: 1,
        nullCount: 0,
        offsets: Int32Array.of(0, 2),
        children: [withNull(int32s(1, 2))],
      }),
      'mismatch: Column "c.item" is not nullable, but has nulls.',
    ],
  ];

  it.each(cases)('%s', async (_, data, expected) => {
    expect(await outcome(data)).toBe(expected);
  });

  it('a large list that leads outside', () => {
    const data = dataOf(new LargeList(item(new Int32())), {
      length: 2,
      nullCount: 0,
      offsets: BigInt64Array.of(0n, 2n ** 40n, 2n ** 40n),
      children: [int32s(1)],
    });
    expect(refused(() => validateData(data, 'c'))).toBe(
      'corrupt: The offsets of column "c" lead to 1099511627776, beyond its end at 1.',
    );
  });

  it('a dense union beyond its child', () => {
    const { type, typeIds, valueOffsets } = union([3, 3], [0, 1]);
    const parts = { length: 2, nullCount: 0, typeIds, offsets: valueOffsets };
    const short = dataOf(type, { ...parts, children: [int32s(5)] });
    expect(refused(() => validateData(short, 'c'))).toBe(
      `corrupt: Row 1 of column "c" leads outside the union's child or back in it.`,
    );
  });

  it('nulls in a column that is not nullable', async () => {
    expect(await outcome(withNull(int32s(1, 2)), false)).toBe(
      'mismatch: Column "c" is not nullable, but has nulls.',
    );
    expect(await outcome(dataOf(new Null(), { length: 2, nullCount: 2 }), false)).toBe(
      'mismatch: Column "c" is not nullable, but has nulls.',
    );
  });
});

describe('values that are accepted', () => {
  const struct = (validity: number, nullCount: number): Data =>
    dataOf(new Struct([new Field('x', new Int32(), false)]), {
      length: 2,
      nullCount,
      validity: bytes(validity),
      children: [withNull(int32s(1, 2))],
    });

  it('nulls of a field that is not nullable where its struct is null', async () => {
    expect(await outcome(struct(0b10, 1))).toBe('read');
    expect(await outcome(struct(0b01, 1))).toBe(
      'mismatch: Column "c.x" is not nullable, but has nulls.',
    );
  });

  it('nulls of items that are not nullable where their vector is null', async () => {
    const type = new FixedSizeList(1, item(new Int32(), false));
    const children = [withNull(int32s(1, 2))];
    const parts = { length: 2, nullCount: 1, children };
    expect(await outcome(dataOf(type, { ...parts, validity: bytes(0b10) }))).toBe('read');
    expect(await outcome(dataOf(type, { ...parts, validity: bytes(0b01) }))).toBe(
      'mismatch: Column "c.item" is not nullable, but has nulls.',
    );
  });

  it('an index outside the dictionary where the row is null', async () => {
    const data = dictionary(9, 1);
    const masked = dataOf(data.type, {
      length: 2,
      nullCount: 1,
      validity: bytes(0b10),
      values: data.values,
      dictionary: data.dictionary,
    });
    expect(await outcome(masked)).toBe('read');
  });

  it('empty columns, with and without offsets', async () => {
    const empty = { length: 0, nullCount: 0, values: bytes() };
    expect(await outcome(dataOf(new Binary(), { ...empty, offsets: new Int32Array(0) }))).toBe(
      'read',
    );
    expect(await outcome(dataOf(new Bool(), empty))).toBe('read');
  });
});
