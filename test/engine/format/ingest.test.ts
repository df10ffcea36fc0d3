import { disk } from '../../support/disk.ts';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RecordBatch } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { empty, newFragment } from '../../../src/engine/format/change.ts';
import { FragmentReader } from '../../../src/engine/query/scan/fragment-reader.ts';
import { openIncoming, type Incoming } from '../../../src/engine/format/incoming.ts';
import { ingest } from '../../../src/engine/format/ingest.ts';
import { RequestMemory } from '../../../src/engine/format/memory/request-memory.ts';
import { LocalStorage } from '../../../src/storage/local-storage.ts';
import type { NewObject } from '../../../src/storage/storage.ts';
import { unboundedBudget } from '../../../src/protocol/budget.ts';
import { DATA } from '../../../src/engine/format/layout.ts';
import { chunksOf, fixture, plainRows, readStream, streamBytes } from '../../arrow/support.ts';
import { wideBatch, wideSchema, wideStream } from '../../service/wide-rows.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-ingest-'));
  await mkdir(join(folder, DATA));
});

afterAll(() => rm(folder, { recursive: true }));

/** Writes to the disk, and looks at bytes as late as a storage may: when the next ones come. */
class LateStorage extends LocalStorage {
  override create(key: string): NewObject {
    const file = super.create(key);
    let last: readonly Uint8Array[] = [];
    const writeLast = () => file.write(last.map((piece) => Buffer.from(piece)));
    return {
      write: async (pieces) => {
        await writeLast();
        last = pieces;
      },
      end: async () => {
        await writeLast();
        await file.end();
      },
      sync: () => file.sync(),
      abandon: () => file.abandon(),
    };
  }
}

function openedStream(body: AsyncIterable<Uint8Array>): Promise<Incoming> {
  const signal = () => new AbortController().signal;
  const limits = { maxArrowBytes: null, memory: new RequestMemory(Infinity) };
  return openIncoming({ body, budget: unboundedBudget(), signal }, limits);
}

/** What a scan of the stored stream finds. */
async function storedRows(
  body: AsyncIterable<Uint8Array>,
  storage: LocalStorage = disk,
): Promise<readonly RecordBatch[]> {
  const { schema, batches } = await openedStream(body);
  const files = await ingest({ storage, folder }, schema, batches);
  const { fieldIds, nextFieldId } = empty(schema);
  const fragments = files.map((file) => newFragment(file, fieldIds, 0n));
  const snapshot = {
    tableId: 'table',
    storage: disk,
    folder,
    version: 1n,
    timestampMillis: 0,
    schema,
    fieldIds,
    nextFieldId,
    fragments,
    rows: 0n,
    nextRowId: 0n,
  };
  const reader = new FragmentReader(disk);
  const found: RecordBatch[] = [];
  for (const fragment of fragments) {
    for await (const { batch } of reader.batches(snapshot, fragment, schema.names.map(String))) {
      found.push(batch);
    }
  }
  await reader.close();
  return found;
}

describe('a stream that is stored', () => {
  it.each([
    ['soon', disk],
    ['late', new LateStorage()],
  ])('keeps every row of batches of any size, written %s', async (_, storage) => {
    let first = 0n;
    const batches = [10, 2000, 3, 700, 5000, 1, 2000, 160, 200, 180, 4000].map((rows) => {
      const batch = wideBatch(first, rows);
      first += BigInt(rows);
      return batch;
    });
    const found = await storedRows(chunksOf(streamBytes(wideSchema, batches), 60_000), storage);
    expect(found.map(({ numRows }) => numRows)).toEqual(batches.map(({ numRows }) => numRows));
    for (const [index, batch] of found.entries()) {
      const [is, was] = [batch, batches[index]!].map((rows) => streamBytes(wideSchema, [rows]));
      expect(Buffer.compare(is!, was!), `batch ${index}`).toBe(0);
    }
  });

  it('lies in memory that is used again', async () => {
    const { schema, batches } = await openedStream(wideStream({ batches: 20, rowsPerBatch: 1500 }));
    const memory = new Set<ArrayBufferLike>();
    const noted = async function* () {
      for await (const batch of batches) {
        memory.add(batch.getChild('id')!.data[0]!.values.buffer);
        yield batch;
      }
    };
    await ingest({ storage: disk, folder }, schema, {
      [Symbol.asyncIterator]: noted,
      stored: (batch) => batches.stored?.(batch),
    });
    expect(memory.size).toBeLessThanOrEqual(3);
  });

  it('joins small batches in their order', async () => {
    const batches = Array.from({ length: 3000 }, (_, at) => wideBatch(BigInt(at), 1));
    const found = await storedRows(chunksOf(streamBytes(wideSchema, batches), 60_000));
    expect(found.length).toBeLessThan(10);
    const ids = found.flatMap((batch) => [...(batch.getChild('id')!.toArray() as BigInt64Array)]);
    expect(ids).toEqual(Array.from({ length: 3000 }, (_, at) => BigInt(at)));
  });

  it.each([false, true])('keeps every row of like batches, compressed: %s', async (lz4) => {
    const body = wideStream({ batches: 20, rowsPerBatch: 1500, lz4 });
    const found = await storedRows(body, new LateStorage());
    const others = wideBatch(0n, 1500);
    for (const [index, batch] of found.entries()) {
      const ids = batch.getChild('id')!.toArray() as BigInt64Array;
      expect(ids).toEqual(BigInt64Array.from(ids, (_, row) => BigInt(1500 * index + row)));
      for (const name of ['name', 'value', 'vector']) {
        const [is, was] = [batch, others].map((rows) => rows.getChild(name)!.data[0]!);
        expect(Buffer.from(bytesOf(is!)).equals(bytesOf(was!)), name).toBe(true);
      }
    }
  });

  it.each(['nested', 'nested-lz4', 'nested-zstd', 'dictionary-deltas', 'scalars-lz4'])(
    'keeps every row of %s',
    async (name) => {
      const { batches } = await readStream(fixture(name));
      expect(plainRows(await storedRows(chunksOf(fixture(name))))).toEqual(plainRows(batches));
    },
  );
});

function bytesOf(data: RecordBatch['data']): Uint8Array {
  const values: Uint8Array | Float64Array | Float32Array = (data.children[0] ?? data).values;
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
