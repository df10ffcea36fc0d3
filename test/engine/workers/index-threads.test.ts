import { Int64, Utf8, vectorFromArray } from 'apache-arrow';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { ThreadPool } from '../../../src/engine/workers/thread-pool.ts';
import { EngineTable, type Columns } from '../../support/engine-table.ts';
import { ask } from '../../support/request.ts';

const ROWS = 30_000;
/** So much beside the keys that the rows are many bytes. */
const FILLING = 'x'.repeat(200);

let table: EngineTable | undefined;

afterEach(async () => {
  vi.restoreAllMocks();
  await table?.close();
  table = undefined;
});

function rowsOf(): Columns {
  const keys = Array.from({ length: ROWS }, (_, row) => BigInt((row * 7919) % 1000));
  const texts = keys.map(() => FILLING);
  return { n: vectorFromArray(keys, new Int64()), text: vectorFromArray(texts, new Utf8()) };
}

/** The files of an index that is built with a number of threads, and how often a thread was used. */
async function built(type: string, workers: number) {
  table = await EngineTable.open({ workers, arrowBody: 2 ** 25 });
  table.engine.startWork(() => undefined);
  await table.create(rowsOf());
  const run = vi.spyOn(ThreadPool.prototype, 'run');
  const body = { column: 'n', index_type: type };
  const { transaction_id: id } = (await table.post('create_index', body)) as {
    transaction_id: string;
  };
  for (let status = ''; status !== 'SUCCEEDED'; await sleep(5)) {
    const line = `POST /v1/transaction/${id}/describe`;
    const { json } = await ask(table.engine.backend, line, { body: {} });
    ({ status } = json as { status: string });
    expect(status).not.toBe('FAILED');
  }
  const asked = run.mock.calls.length;
  const folder = join(table.engine.data, 'tables');
  const names = (await readdir(folder, { recursive: true })).filter((name) =>
    /indices.*\.arrow$/.test(name),
  );
  const files = await Promise.all(names.map((name) => readFile(join(folder, name))));
  await table.close();
  vi.restoreAllMocks();
  table = undefined;
  return { asked, files };
}

/** A sealed file with zeros in place of its random identity. */
function withoutIdentity(file: Buffer): Buffer {
  const end = file.lastIndexOf('AGSEAL01');
  const block = end + 8 - file.readUInt32LE(end - 4);
  return Buffer.from(file).fill(0, block, block + 16);
}

it.each(['BTREE', 'BITMAP'])(
  'builds an index of type %s on a thread where there is much, the same as here',
  async (type) => {
    const [here, there] = [await built(type, 0), await built(type, 1)];
    expect([here.asked, there.asked]).toEqual([0, 1]);
    expect(there.files).toHaveLength(1);
    const [ours, theirs] = [here, there].map(({ files }) => withoutIdentity(files[0]!));
    expect(theirs!.equals(ours!)).toBe(true);
  },
);
