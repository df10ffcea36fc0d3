import { Field, Int32, type RecordBatch, type Schema } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { batchOfData, dataOf } from '../../../src/arrow/data.ts';
import { ArrowError } from '../../../src/arrow/arrow-error.ts';
import { schemaOf } from '../../../src/arrow/nested-type.ts';
import { joinRanges } from '../../../src/arrow/ipc/random-access.ts';
import { fileBytes, fixture, openBytes, plainRows, readStream } from '../support.ts';

const rows = 50_000;

function wide(columns: number): { schema: Schema; batch: RecordBatch } {
  const fields = Array.from({ length: columns }, (_, index) => new Field(`c${index}`, new Int32()));
  const data = fields.map((_, index) =>
    dataOf(new Int32(), {
      length: rows,
      nullCount: 0,
      values: new Int32Array(rows).fill(index),
    }),
  );
  const schema = schemaOf(fields);
  return { schema, batch: batchOfData(schema, data, rows) };
}

async function failure(bytes: Uint8Array): Promise<string> {
  try {
    const { file } = await openBytes(bytes);
    await file.readBatch(0, ['nowhere']);
  } catch (error) {
    if (error instanceof ArrowError) return `${error.kind}: ${error.message}`;
    throw error;
  }
  return 'read';
}

describe('files', () => {
  it('give the columns asked for, in that order, and read only their bytes', async () => {
    const { schema, batch } = wide(20);
    const { file, reads } = await openBytes(fileBytes(schema, [batch, batch]));
    reads.length = 0;
    const some = await file.readBatch(1, ['c17', 'c2']);
    expect(some.schema.names).toEqual(['c17', 'c2']);
    expect([some.getChild('c17')?.get(5), some.getChild('c2')?.get(5)]).toEqual([17, 2]);
    expect(reads.map(({ length }) => length)).toEqual([4 * rows, 4 * rows]);
  });

  it('take neighbours in one request', async () => {
    const { schema, batch } = wide(20);
    const { file, reads } = await openBytes(fileBytes(schema, [batch]));
    reads.length = 0;
    await file.readBatch(0, ['c5', 'c4', 'c3']);
    expect(reads).toHaveLength(1);
    reads.length = 0;
    expect((await file.readBatch(0, [])).numRows).toBe(rows);
    expect(reads).toEqual([]);
  });

  it.each(['scalars', 'nested'])('give each column of %s alone', async (name) => {
    const { schema, batches } = await readStream(fixture(name));
    const { file } = await openBytes(fileBytes(schema, batches));
    const all = plainRows(batches);
    for (const [index, { name: column }] of schema.fields.entries()) {
      const read = await Promise.all(batches.map((_, at) => file.readBatch(at, [column])));
      expect(plainRows(read)).toEqual(all.map((row) => [row[index]]));
      expect(read[0]?.schema.fields[0]).toBe(file.schema.fields[index]);
    }
  });

  it('read a dictionary once', async () => {
    const { schema, batches } = await readStream(fixture('nested'));
    const { file, reads } = await openBytes(fileBytes(schema, batches));
    await file.readBatch(0, ['dict']);
    const before = reads.length;
    await file.readBatch(2, ['dict']);
    expect(reads.length - before).toBe(1);
  });

  it('do not read dictionaries that no column needs', async () => {
    const { schema, batches } = await readStream(fixture('nested'));
    const { file, reads } = await openBytes(fileBytes(schema, batches));
    const before = reads.length;
    await file.readBatch(0, ['utf8']);
    expect(reads.length - before).toBe(1);
  });

  it('are refused when they are damaged', async () => {
    const { schema, batch } = wide(1);
    const bytes = fileBytes(schema, [batch]);
    expect(await failure(bytes)).toBe('mismatch: There is no column "nowhere".');
    expect(await failure(bytes.slice(0, -1))).toBe(
      'corrupt: The file does not end like an Arrow file.',
    );
    expect(await failure(bytes.slice(0, 10))).toBe(
      'corrupt: A file of 10 bytes is not an Arrow file.',
    );
    const footer = bytes.slice();
    new DataView(footer.buffer).setInt32(footer.length - 10, 2 ** 30, true);
    expect(await failure(footer)).toBe(`corrupt: The file declares a footer of ${2 ** 30} bytes.`);
    const shorter = new Uint8Array(Buffer.concat([bytes.subarray(0, 8), bytes.subarray(5000)]));
    expect(await failure(shorter)).toBe('corrupt: The footer of a file leads outside the file.');
  });
});

describe('joining ranges', () => {
  it('keeps what lies far apart apart, and begins at multiples of 8', () => {
    const ranges = [
      { offset: 100_000, length: 10 },
      { offset: 13, length: 7 },
      { offset: 50, length: 0 },
      { offset: 30, length: 10 },
    ];
    expect(joinRanges(ranges)).toEqual([
      { offset: 8, length: 32 },
      { offset: 100_000, length: 10 },
    ]);
  });
});
