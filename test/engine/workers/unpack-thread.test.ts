import { afterEach, describe, expect, it } from 'vitest';
import type { Codec } from '../../../src/arrow/ipc/message.ts';
import { ThreadPool } from '../../../src/engine/workers/thread-pool.ts';
import { unpackerOn } from '../../../src/engine/workers/thread-tasks.ts';
import { packedBatch, zeros } from '../../attacks/arrow-bombs.ts';
import { EngineTable } from '../../support/engine-table.ts';
import { eventually } from '../../support/eventually.ts';
import { ask } from '../../support/request.ts';

/* Compressed batches of more than 1 MiB are decompressed on a thread. */

/** Rows of 8 bytes: more than 1 MiB together. */
const ROWS = 200_000;
const BYTES = 8 * ROWS;
const CREATE = 'POST /v1/table/packed/create';

const frameStarts: Readonly<Record<Codec, Buffer>> = {
  lz4: Buffer.from('04224d18', 'hex'),
  zstd: Buffer.from('28b52ffd', 'hex'),
};

const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function tableWith(workers: number): Promise<EngineTable> {
  const table = await EngineTable.open({ workers, arrowBody: null });
  cleanups.push(() => table.close());
  return table;
}

function poolOf(): ThreadPool {
  const pool = new ThreadPool(1);
  cleanups.push(() => pool.close());
  return pool;
}

/** Where the frame of the only compressed buffer begins. */
function frameOf(body: Uint8Array, codec: Codec): number {
  const at = Buffer.from(body).indexOf(frameStarts[codec]);
  expect(at).toBeGreaterThan(8);
  return at;
}

/** A stream whose only frame does not begin as one. */
async function damaged(codec: Codec): Promise<Uint8Array> {
  const body = Uint8Array.from(await zeros(codec, 1, ROWS));
  body.fill(0, frameOf(body, codec), frameOf(body, codec) + 4);
  return body;
}

describe.each([0, 1])('a large compressed body, with %i workers', (workers) => {
  it.each<[Codec, string]>([
    ['lz4', 'An LZ4 buffer does not begin with a frame.'],
    ['zstd', 'A ZSTD buffer is damaged or holds more than it declares.'],
  ])('of %s that is damaged is refused, and the service goes on', async (codec, sentence) => {
    const table = await tableWith(workers);
    const { backend } = table.engine;
    const refused = ask(backend, CREATE, { body: await damaged(codec) });
    await expect(refused).rejects.toMatchObject({
      row: { name: 'InvalidInput', status: 400, code: 13 },
      message: sentence,
    });
    await ask(backend, CREATE, { body: await zeros(codec, 2, ROWS) });
    const counted = await ask(backend, 'POST /v1/table/packed/count_rows', {
      body: { predicate: 'n = 0' },
    });
    expect(counted.json).toBe(2 * ROWS);
  });
});

describe('the unpack thread', () => {
  it('gives the buffers in order, as the main thread does, and takes the memory of the body', async () => {
    const pool = poolOf();
    const batch = await packedBatch('zstd', 3, BYTES);
    const buffers = await unpackerOn(pool)(batch, new AbortController().signal);
    expect(buffers.map(({ length }) => length)).toEqual([BYTES, BYTES, BYTES]);
    expect(buffers.every((bytes) => bytes.every((byte) => byte === 0))).toBe(true);
    expect(batch.body.byteLength).toBe(0);
  });

  it.each<Codec>(['lz4', 'zstd'])(
    'is free again when the client of a body of %s has left',
    async (codec) => {
      const pool = poolOf();
      const unpack = unpackerOn(pool);
      const leaving = new AbortController();
      const left = unpack(await packedBatch(codec, 5000, BYTES), leaving.signal);
      const refused = expect(left).rejects.toThrow('the request was aborted');
      expect(pool.tasks).toBe(1);
      leaving.abort();
      await refused;
      await eventually(async () => expect(pool.tasks).toBe(0));
      const stays = new AbortController();
      expect(await unpack(await packedBatch(codec, 1, BYTES), stays.signal)).toHaveLength(1);
    },
  );

  it('begins nothing for a client that has left before', async () => {
    const pool = poolOf();
    const left = unpackerOn(pool)(
      await packedBatch('lz4', 1, BYTES),
      AbortSignal.abort(new Error('left')),
    );
    await expect(left).rejects.toThrow('left');
    expect(pool.threads).toBe(0);
  });
});
