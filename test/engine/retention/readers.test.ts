import { readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { Int64, tableFromIPC, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ByteStream } from '../../../src/protocol/backend.ts';
import { collect, tableFiles } from '../../support/dropped.ts';
import { EngineTable, streamOf } from '../../support/engine-table.ts';
import { openOther } from '../../support/engine.ts';

const PARTS = 20;
const ROWS = 5000;

let table: EngineTable;

const part = (at: number) => ({
  n: vectorFromArray(
    Array.from({ length: ROWS }, (_, row) => BigInt(at * ROWS + row)),
    new Int64(),
  ),
});

beforeEach(async () => {
  table = await EngineTable.open();
  await table.create(...Array.from({ length: PARTS }, (_, at) => part(at)));
});

afterEach(async () => table.close());

/** A reader that has begun to read all rows of a version, and takes the rest when it is told to. */
class SlowReader {
  readonly #bytes: AsyncIterator<Uint8Array>;
  readonly #pieces: Uint8Array[] = [];

  private constructor(bytes: AsyncIterator<Uint8Array>) {
    this.#bytes = bytes;
  }

  static async begin(version: number): Promise<SlowReader> {
    const body = { vector: [], version, columns: ['n'] };
    const answer = await table.send('query', { body });
    const reader = new SlowReader((answer.body as ByteStream)[Symbol.asyncIterator]());
    await reader.#take();
    return reader;
  }

  async #take(): Promise<boolean> {
    const next = await this.#bytes.next();
    if (next.done !== true) this.#pieces.push(next.value);
    return next.done !== true;
  }

  async rest(): Promise<number> {
    while (await this.#take());
    const column = tableFromIPC(Buffer.concat(this.#pieces)).getChild('n');
    return new Set(column?.toArray() as BigInt64Array).size;
  }

  async leave(): Promise<void> {
    await this.#bytes.return?.();
  }
}

const dataFiles = async () =>
  (await tableFiles(table.engine.data)).filter((path) => path.includes('/data/'));

async function removeHistory(): Promise<void> {
  await table.send('create?mode=overwrite', { body: streamOf(part(0)) });
  const ranges = [{ start_version: 0, end_version: -1 }];
  expect(await table.post('version/delete', { ranges })).toEqual({ deleted_count: PARTS });
}

describe('a reader in the middle of a version', () => {
  it('gets all rows while the version is removed, whose files go when it has ended', async () => {
    const reader = await SlowReader.begin(PARTS);
    await removeHistory();
    expect(await collect(table.engine)).toMatchObject({ files: 0, failures: [] });
    expect(await dataFiles()).toHaveLength(PARTS + 1);
    expect(await reader.rest()).toBe(PARTS * ROWS);
    await collect(table.engine);
    expect(await dataFiles()).toHaveLength(1);
  });

  it('gets all rows while the version expires, here or in another process', async () => {
    const other = await openOther(table.engine);
    const reader = await SlowReader.begin(PARTS);
    await table.send('create?mode=overwrite', { body: streamOf(part(0)) });
    const expiry = { policy: { keepForMillis: 0, keepLast: 1 } };
    const elsewhere = { ...table.engine, ...other };
    for (const engine of [elsewhere, table.engine]) {
      expect(await collect(engine, { expiry })).toMatchObject({ files: 0, waiting: 1 });
    }
    expect(await reader.rest()).toBe(PARTS * ROWS);
    expect(await collect(elsewhere, { expiry })).toMatchObject({ versions: 0, waiting: 0 });
    expect(await dataFiles()).toHaveLength(1);
    await other.close();
  });

  it('is waited for even if it is given up', async () => {
    const [left, read] = [await SlowReader.begin(PARTS), await SlowReader.begin(PARTS)];
    await removeHistory();
    await left.leave();
    expect(await dataFiles()).toHaveLength(PARTS + 1);
    expect(await read.rest()).toBe(PARTS * ROWS);
    await collect(table.engine);
    expect(await dataFiles()).toHaveLength(1);
  });

  it('gets all rows of a table that is dropped, overdue and collected', async () => {
    const reader = await SlowReader.begin(PARTS);
    await table.post('drop');
    expect(await collect(table.engine)).toMatchObject({ tables: 0, files: 0, waiting: 1 });
    expect(await reader.rest()).toBe(PARTS * ROWS);
    expect(await collect(table.engine)).toMatchObject({ tables: 1, waiting: 0 });
    expect(await tableFiles(table.engine.data)).toEqual([]);
  });

  it('is seen by the other processes of the data folder', async () => {
    const other = await openOther(table.engine);
    const reader = await SlowReader.begin(PARTS);
    await table.post('drop');
    expect(await collect({ ...table.engine, ...other })).toMatchObject({ tables: 0, waiting: 1 });
    expect(await reader.rest()).toBe(PARTS * ROWS);
    expect(await collect({ ...table.engine, ...other })).toMatchObject({ tables: 1, waiting: 0 });
    await other.close();
  });
});

it('leaves no file of removed versions open', async () => {
  expect(await (await SlowReader.begin(PARTS)).rest()).toBe(PARTS * ROWS);
  await removeHistory();
  const open = await readdir('/proc/self/fd', { withFileTypes: true });
  const links = await Promise.all(
    open.map(({ name }) => readlink(join('/proc/self/fd', name)).catch(() => '')),
  );
  expect(links.filter((link) => link.startsWith(table.engine.data)).join()).not.toContain(
    '(deleted)',
  );
});

it('removes what nobody reads before it answers', async () => {
  await removeHistory();
  expect(await dataFiles()).toHaveLength(1);
});
