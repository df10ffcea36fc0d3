import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { openEngine, type Engine } from '../../../../src/engine/engine.ts';
import { openEmbeddedStore } from '../../../../src/store/embedded/store.ts';
import type { Store } from '../../../../src/store/store.ts';
import { goodRows } from '../../../service/table-bodies.ts';
import { testFolders } from '../../../support/folder.ts';
import { ask } from '../../../support/request.ts';

const newFolder = testFolders();
let data: string;

beforeEach(async () => {
  data = await newFolder();
});

/** Opens an engine on the data folder for some work, and closes it. */
async function during<Result>(
  work: (engine: Engine, store: Store) => Promise<Result>,
): Promise<Result> {
  const store = await openEmbeddedStore(join(data, 'store'));
  const engine = await openEngine({
    data,
    store,
    locations: { managed: join(data, 'lance'), allowed: [] },
    cacheBytes: 2 ** 20,
    jsonBody: 2 ** 20,
    arrowBody: 2 ** 20,
    page: 1000,
  });
  try {
    return await work(engine, store);
  } finally {
    await engine.close();
    await store.close();
  }
}

async function post(engine: Engine, action: string, body: object): Promise<void> {
  expect((await ask(engine.backend, `POST /v1/${action}`, { body })).status).toBe(200);
}

/** Makes a table, keeps what the store is then, and continues. Answers the number of the last change. */
async function historyWithPast(): Promise<bigint> {
  await during((engine) => post(engine, 'table/t/create', goodRows));
  await cp(join(data, 'store'), join(data, 'past'), { recursive: true });
  return during(async (engine, store) => {
    await post(engine, 'table/t/insert', goodRows);
    await post(engine, 'namespace/ns/create', {});
    await post(engine, 'table/t/tags/create', { tag: 'v', version: 2 });
    return store.sequence();
  });
}

async function goBack(): Promise<void> {
  await rm(join(data, 'store'), { recursive: true });
  await cp(join(data, 'past'), join(data, 'store'), { recursive: true });
}

async function lastJournal(): Promise<string> {
  const names = await readdir(join(data, 'catalog'));
  const journals = names.filter((name) => name.startsWith('journal-')).toSorted();
  return join(data, 'catalog', journals.at(-1)!);
}

async function rows(engine: Engine): Promise<unknown> {
  return (await ask(engine.backend, 'POST /v1/table/t/count_rows', { body: {} })).json;
}

describe('a store that went back', () => {
  it('gets what it lost from the journal before it is used', async () => {
    const sequence = await historyWithPast();
    await goBack();
    await during(async (engine, store) => {
      expect(await store.sequence()).toBe(sequence);
      expect(await rows(engine)).toBe(6);
      await post(engine, 'table/t/insert', goodRows);
      expect(await store.sequence()).toBe(sequence + 1n);
      const { findings } = await engine.upkeep!.verifier.verify();
      expect(findings).toEqual([]);
    });
  });

  it('gets it while the engine runs, when its file is put back', async () => {
    await historyWithPast();
    await during(async (engine) => {
      expect(await rows(engine)).toBe(6);
      await goBack();
      await new Promise((resolve) => setTimeout(resolve, 5));
      expect(await rows(engine)).toBe(6);
      await post(engine, 'table/t/tags/delete', { tag: 'v' });
    });
  });

  it('is not used when the journal lacks some of it', async () => {
    const sequence = await historyWithPast();
    await goBack();
    const path = await lastJournal();
    const lines = (await readFile(path, 'utf8')).split('\n');
    await writeFile(path, lines.slice(1).join('\n'));
    await during(async (engine) => {
      expect(engine.upkeep).toBeNull();
      expect(await engine.backend.health()).toBe(
        `the store has the changes up to ${sequence - 3n}, but the journal those up to ${sequence}: catalog rebuild restores them`,
      );
      await expect(rows(engine)).rejects.toMatchObject({ row: { code: 17 } });
    });
  });

  it('is not used when it still holds a change that the journal tells otherwise', async () => {
    await historyWithPast();
    await goBack();
    const store = await openEmbeddedStore(join(data, 'store'));
    await store.commit([], [{ key: 'Nx', value: Buffer.from('another history') }]);
    await store.close();
    await during(async (engine) => {
      expect(await engine.backend.health()).toMatch(/catalog rebuild restores them$/);
    });
  });
});
