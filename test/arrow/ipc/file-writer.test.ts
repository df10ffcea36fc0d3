import {
  Dictionary,
  Field,
  Int8,
  Int64,
  tableFromIPC,
  Uint8,
  Utf8,
  Vector,
  type Data,
  type RecordBatch,
  type Schema,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { batchOfData, dataOf } from '../../../src/arrow/data.ts';
import { openFile } from '../../../src/arrow/ipc/file-reader.ts';
import { FileWriter } from '../../../src/arrow/ipc/file-writer.ts';
import { schemaOf } from '../../../src/arrow/nested-type.ts';
import { conform } from '../../../src/arrow/types.ts';
import {
  fileBytes,
  fixture,
  openBytes,
  plainRows,
  plainSchema,
  readStream,
  refused,
  streamBytes,
} from '../support.ts';

function words(...values: string[]): Vector {
  const bytes = values.map((value) => Buffer.from(value));
  const offsets = Int32Array.of(
    0,
    ...bytes.map(
      (
        (sum) => (value) =>
          (sum += value.length)
      )(0),
    ),
  );
  const length = values.length;
  return new Vector([
    dataOf(new Utf8(), { length, nullCount: 0, offsets, values: Buffer.concat(bytes) }),
  ]);
}

function colours(schema: Schema, indices: number[], dictionary: Vector): RecordBatch {
  const values = Int8Array.from(indices);
  const { type } = schema.fields[0]!;
  const data = dataOf(type, { length: indices.length, nullCount: 0, values, dictionary });
  return batchOfData(schema, [data], indices.length);
}

const colourSchema = schemaOf([new Field('c', new Dictionary(new Utf8(), new Int8()), true)]);

describe('written files and streams', () => {
  it.each(['scalars', 'nested', 'dictionary-deltas', 'lancedb-create'])(
    'hold every value, type and metadata of %s',
    async (name) => {
      const { schema, batches } = await readStream(fixture(name));
      const { file } = await openBytes(fileBytes(schema, batches));
      const fromFile = await Promise.all(batches.map((_, index) => file.readBatch(index)));
      const fromStream = await readStream(streamBytes(schema, batches));
      for (const found of [fromFile, fromStream.batches]) {
        expect(plainRows(found)).toEqual(plainRows(batches));
      }
      expect(plainSchema(file.schema)).toEqual(plainSchema(schema));
      expect(plainSchema(fromStream.schema)).toEqual(plainSchema(schema));
      expect(file.batchRows).toEqual(batches.map((batch) => batch.numRows));
    },
  );

  it.each(['scalars', 'nested'])('are read by the package: %s', async (name) => {
    const { schema, batches } = await readStream(fixture(name));
    for (const bytes of [fileBytes(schema, batches), streamBytes(schema, batches)]) {
      const table = tableFromIPC(bytes);
      expect(plainRows(table.batches)).toEqual(plainRows(batches));
    }
  });

  it('carry the schema without any batch', async () => {
    const { schema } = await readStream(fixture('nested'));
    const { file } = await openBytes(fileBytes(schema, []));
    expect(plainSchema(file.schema)).toEqual(plainSchema(schema));
    expect([file.rows, file.batchRows]).toEqual([0, []]);
    expect(tableFromIPC(fileBytes(schema, [])).schema.names).toEqual(schema.names);
  });

  it('carry rows without any column', async () => {
    const schema = schemaOf([]);
    const { file } = await openBytes(fileBytes(schema, [batchOfData(schema, [], 7)]));
    expect(file.rows).toBe(7);
    expect((await file.readBatch(0)).numRows).toBe(7);
  });

  it('carry empty names as names', () => {
    const type = new Int8();
    const schema = schemaOf([new Field('', type, true)], new Map([['', '']]));
    const data = dataOf(type, { length: 1, nullCount: 0, values: Int8Array.of(1) });
    const table = tableFromIPC(fileBytes(schema, [batchOfData(schema, [data], 1)]));
    expect(table.schema.fields[0]?.name).toBe('');
    expect([...table.schema.metadata]).toEqual([['', '']]);
  });

  it('count bytes and rows as they go', () => {
    const writer = new FileWriter(colourSchema);
    expect(writer.begin().length).toBe(writer.bytes);
    const before = writer.bytes;
    const pieces = writer.batch(colours(colourSchema, [0, 1], words('red', 'blue')));
    expect(writer.bytes - before).toBe(pieces.reduce((sum, piece) => sum + piece.length, 0));
    expect(writer.rows).toBe(2);
    expect(writer.bytes % 64).toBe(0);
  });

  it('share memory with the batches', () => {
    const values = new BigInt64Array(1000);
    const schema = schemaOf([new Field('n', new Int64())]);
    const data = dataOf(new Int64(), { length: 1000, nullCount: 0, values });
    const writer = new FileWriter(schema);
    writer.begin();
    const pieces = writer.batch(batchOfData(schema, [data], 1000));
    expect(pieces.some((piece) => piece.buffer === values.buffer)).toBe(true);
  });

  it('refuse batches of another schema', () => {
    const schema = schemaOf([new Field('c', new Int8())]);
    expect(refused(() => fileBytes(schema, [colours(colourSchema, [], words())]))).toBe(
      'mismatch: A batch has the column "c" of dictionary<int8, utf8>, its file has "c" of int8.',
    );
    expect(refused(() => fileBytes(schemaOf([]), [colours(colourSchema, [], words())]))).toBe(
      'mismatch: A batch has 1 columns, its file has 0.',
    );
  });
});

describe('dictionaries of several batches', () => {
  const batches = [
    colours(colourSchema, [0, 1, 0], words('red', 'blue')),
    colours(colourSchema, [0, 1, 2], words('blue', 'green', 'red')),
    colours(colourSchema, [0], words('red', 'blue', 'grey')),
  ];
  const values = [['red'], ['blue'], ['red'], ['blue'], ['green'], ['red'], ['red']];
  const expected = values.map(([value]) => [Buffer.from(value!).toString('hex')]);

  it('become one in a file', async () => {
    const { file } = await openBytes(fileBytes(colourSchema, batches));
    const read = await Promise.all([0, 1, 2].map((index) => file.readBatch(index)));
    expect(plainRows(read)).toEqual(expected);
    const [first, second] = read.map((batch) => batch.data.children[0]!.dictionary);
    expect(second).toBe(first);
    expect(first?.toJSON()).toEqual(['red', 'blue', 'green', 'grey']);
    expect(plainRows(tableFromIPC(fileBytes(colourSchema, batches)).batches)).toEqual(expected);
  });

  it('grow in a stream', async () => {
    const bytes = streamBytes(colourSchema, batches);
    expect(plainRows((await readStream(bytes)).batches)).toEqual(expected);
    expect(plainRows(tableFromIPC(bytes).batches)).toEqual(expected);
  });

  it('are refused when the index type cannot count the values', () => {
    const many = (start: number): Vector =>
      words(...Array.from({ length: 100 }, (_, index) => `v${start + index}`));
    const some = [colours(colourSchema, [99], many(0)), colours(colourSchema, [0], many(50))];
    expect(refused(() => fileBytes(colourSchema, some))).toBe(
      'limit: A joint dictionary would have 150 values, its index type Int8 can hold 128.',
    );
  });

  it('stay apart when two columns carry the same id', async () => {
    const fields = ['a', 'b'].map(
      (name) => new Field(name, new Dictionary(new Utf8(), new Int8(), 0), true),
    );
    const schema = schemaOf(fields);
    const columns = [words('x'), words('y')].map((dictionary, index): Data => {
      const values = Int8Array.of(0);
      return dataOf(fields[index]!.type, { length: 1, nullCount: 0, values, dictionary });
    });
    const { file } = await openBytes(fileBytes(schema, [batchOfData(schema, columns, 1)]));
    expect(plainRows([await file.readBatch(0)])).toEqual([['78', '79']]);
  });

  it('of other batches go under one schema', async () => {
    const { schema, batches: nested } = await readStream(fixture('nested'));
    const again = await readStream(fixture('nested-zstd'));
    const moved = again.batches.map((batch) => conform(batch, schema));
    const { file } = await openBytes(fileBytes(schema, [...nested, ...moved]));
    const read = await Promise.all(file.batchRows.map((_, index) => file.readBatch(index)));
    expect(plainRows(read)).toEqual([...plainRows(nested), ...plainRows(nested)]);
  });
});

describe('files beyond 4 GiB', () => {
  it('have a footer that leads to every batch', async () => {
    const rows = 2 ** 30;
    const huge = dataOf(new Uint8(), {
      length: rows,
      nullCount: 0,
      values: new Uint8Array(rows),
    });
    const schema = schemaOf([new Field('n', new Uint8(), true)]);
    const writer = new FileWriter(schema);
    const pieces: { start: number; bytes: Uint8Array }[] = [];
    let end = 0;
    const add = (bytes: Uint8Array): void => {
      pieces.push({ start: end, bytes });
      end += bytes.length;
    };
    add(writer.begin());
    for (let count = 0; count < 5; count++) {
      for (const piece of writer.batch(batchOfData(schema, [huge], rows))) add(piece);
    }
    const last = dataOf(new Uint8(), { length: 3, nullCount: 0, values: Uint8Array.of(7, 8, 9) });
    for (const piece of writer.batch(batchOfData(schema, [last], 3))) add(piece);
    add(writer.end());
    expect(writer.bytes).toBe(end);
    expect(end).toBeGreaterThan(2 ** 32);
    const file = await openFile({
      size: end,
      read: (offset, length) => {
        const touched = pieces
          .filter(({ start, bytes }) => start < offset + length && start + bytes.length > offset)
          .map(({ start, bytes }) =>
            bytes.subarray(Math.max(0, offset - start), offset + length - start),
          );
        return Promise.resolve(new Uint8Array(Buffer.concat(touched)));
      },
    });
    expect(file.rows).toBe(5 * rows + 3);
    expect(plainRows([await file.readBatch(5)])).toEqual([['7'], ['8'], ['9']]);
  });
});
