import {
  DictionaryBuilder,
  Dictionary,
  Field,
  Int32,
  Int64,
  List,
  Utf8,
  vectorFromArray,
  type DataType,
  type RecordBatch,
  type Schema,
  type Vector,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { FileWriter } from '../../../src/arrow/ipc/file-writer.ts';
import { OneBatchFile } from '../../../src/arrow/ipc/one-batch-file.ts';
import { schemaOf } from '../../../src/arrow/nested-type.ts';
import { batchOf, slice } from '../../../src/arrow/select.ts';
import { fixture, readStream } from '../support.ts';

/** The same file as the writer of all files makes it. */
function expected(schema: Schema, batch: RecordBatch): Buffer {
  const writer = new FileWriter(schema);
  return Buffer.concat([writer.begin(), ...writer.batch(batch), writer.end()]);
}

function expectSame(schema: Schema, batch: RecordBatch): void {
  const file = new OneBatchFile(schema, batch);
  expect(file.bodyBytes).toBe(file.pieces.reduce((sum, { length }) => sum + length, 0));
  expect(Buffer.from(file.bytes()).equals(expected(schema, batch))).toBe(true);
}

function numbers(schema: Schema, keys: readonly (bigint | null)[]): RecordBatch {
  const names = keys.map((key) => (key === null ? null : `name ${key}`.repeat(Number(key) % 7)));
  const lists = keys.map((key) => (key === null ? null : [Number(key), null, 3]));
  const item = schema.fields[2]!.type as List<Int32>;
  const columns: Vector[] = [
    vectorFromArray([...keys], new Int64()),
    vectorFromArray(names, new Utf8()),
    vectorFromArray(lists, item),
  ];
  return batchOf(schema, columns, keys.length);
}

const listType: DataType = new List(new Field('item', new Int32(), true));
const fields = [
  new Field('key', new Int64(), true),
  new Field('name', new Utf8(), true),
  new Field('list', listType, true),
];

describe('a file of one batch', () => {
  it.each([
    ['without metadata', new Map<string, string>()],
    [
      'with metadata',
      new Map([
        ['a key', 'a value'],
        ['empty', ''],
      ]),
    ],
  ])('of a schema %s has the bytes of one that is written piece by piece', (_, metadata) => {
    const schema = schemaOf(fields, metadata);
    const some = [[], [1n], [null], [5n, null, 6n], [null, null]];
    for (const keys of [...some, Array.from({ length: 900 }, (_, at) => BigInt(at)), [1n], []]) {
      expectSame(schema, numbers(schema, keys));
    }
  });

  it('of a part of a batch has only its rows', () => {
    const schema = schemaOf(fields);
    const batch = numbers(schema, [1n, null, 3n, 4n, 5n, 6n]);
    for (const [start, count] of [
      [0, 6],
      [1, 3],
      [5, 1],
      [2, 0],
    ] as const) {
      expectSame(schema, slice(batch, start, count));
    }
  });

  it.each(['scalars', 'nested', 'dictionary-deltas', 'lancedb-create'])(
    'has the bytes of one that is written piece by piece for each type of %s',
    async (name) => {
      const { schema, batches } = await readStream(fixture(name));
      for (const batch of [...batches, ...batches.toReversed()]) expectSame(schema, batch);
    },
  );

  it('has the dictionary of its own batch', () => {
    const type = new Dictionary(new Utf8(), new Int32());
    const schema = schemaOf([new Field('word', type, true)]);
    for (const words of [['a', 'b', 'a'], ['c'], ['c', 'd', 'e', 'f']]) {
      const builder = new DictionaryBuilder({ type });
      for (const word of words) builder.append(word);
      expectSame(schema, batchOf(schema, [builder.finish().toVector()], words.length));
    }
  });
});
