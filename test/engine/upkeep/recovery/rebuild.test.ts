import { disk } from '../../../support/disk.ts';
import { appendFile, link, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeChange } from '../../../../src/engine/catalog/journal/journal-line.ts';
import { listSnapshots } from '../../../../src/engine/catalog/journal/snapshot-file.ts';
import { rebuild, type Rebuilt } from '../../../../src/engine/upkeep/recovery/rebuild.ts';
import type { Store } from '../../../../src/store/store.ts';
import { freshEngine, type TestEngine } from '../../../support/engine.ts';
import { MemoryStore } from '../../../support/memory-store.ts';
import { ask } from '../../../support/request.ts';
import { goodRows } from '../../../service/table-bodies.ts';

let engine: TestEngine;
let folder: string;

beforeEach(async () => {
  engine = await freshEngine();
  folder = join(engine.data, 'catalog');
  await post('namespace/ns/create');
  await post('table/ns$t/create', goodRows);
  await post('table/ns$t/insert', goodRows);
  await post('table/ns$t/tags/create', { tag: 'v', version: 1 });
});

afterEach(() => engine.close());

async function post(action: string, body?: object): Promise<void> {
  expect(
    (await ask(engine.backend, `POST /v1/${action}`, body === undefined ? {} : { body })).status,
  ).toBe(200);
}

function run(store: Store, flags: { dryRun?: boolean; force?: boolean } = {}): Promise<Rebuilt> {
  const { dryRun = false, force = false } = flags;
  return rebuild({
    storage: disk,
    data: engine.data,
    store,
    dryRun,
    force,
    progress: () => undefined,
  });
}

/** Everything that a store holds. */
async function contents(store: Store): Promise<readonly (readonly [string, string])[]> {
  const entries = await store.range({ start: '', end: '\u{10ffff}', limit: 10_000 });
  return entries.map(({ key, value }) => [key, Buffer.from(value).toString()]);
}

async function refusal(store: Store, flags = {}): Promise<unknown> {
  return run(store, flags).then(
    () => 'no refusal',
    (error: unknown) => (error instanceof Error ? `${error.name}: ${error.message}` : error),
  );
}

async function catalogId(): Promise<string> {
  return readFile(join(folder, 'id'), 'utf8');
}

async function journalFile(): Promise<string> {
  const [name = ''] = (await readdir(folder)).filter((file) => file.startsWith('journal-'));
  return join(folder, name);
}

async function putInto(store: Store, key: string, text: string): Promise<void> {
  await store.commit([], [{ key, value: Buffer.from(text) }]);
}

describe('a rebuild', () => {
  it('gives an empty store what the lost one had, and numbers go on above it', async () => {
    const store = new MemoryStore();
    const done = await run(store);
    expect(done).toMatchObject({
      restored: 'all',
      from: 0n,
      sequence: await engine.store.sequence(),
      catalog: await catalogId(),
      namespaces: 1,
      tables: 1,
      dropped: 0,
      versions: 2,
      tags: 1,
      branches: 0,
      versionsAhead: 0,
      lost: [],
    });
    expect(await contents(store)).toEqual(await contents(engine.store));
    expect(await store.commit([], [])).toMatchObject({ sequence: done.sequence + 1n });
    expect(await listSnapshots(disk, folder)).toMatchObject([{ sequence: done.sequence }]);
  });

  it('says before what it would do, and changes nothing', async () => {
    const store = new MemoryStore();
    const before = await readdir(folder);
    const dry = await run(store, { dryRun: true });
    expect([await contents(store), await readdir(folder)]).toEqual([[], before]);
    expect(await run(store)).toEqual(dry);
  });

  it('restores from a snapshot and the lines after it, and from a snapshot alone', async () => {
    await run(new MemoryStore());
    await post('table/ns$t/insert', goodRows);
    const store = new MemoryStore();
    expect(await run(store)).toMatchObject({ versions: 3 });
    expect(await contents(store)).toEqual(await contents(engine.store));
    await rm(await journalFile());
    const alone = new MemoryStore();
    expect(await run(alone)).toMatchObject({ versions: 3 });
    expect(await contents(alone)).toEqual(await contents(engine.store));
  });

  it('gives a store that went back what it lacks, and takes from it what was not kept', async () => {
    const store = new MemoryStore();
    await run(store);
    await post('table/ns$t/insert', goodRows);
    await post('namespace/other/create', { properties: { a: 'b' } });
    await post('table/ns$t/tags/delete', { tag: 'v' });
    const from = await store.sequence();
    const before = await contents(store);
    expect(await run(store, { dryRun: true })).toMatchObject({ restored: 'lost', from });
    expect(await contents(store)).toEqual(before);
    expect(await run(store)).toMatchObject({
      restored: 'lost',
      from,
      sequence: await engine.store.sequence(),
    });
    expect(await contents(store)).toEqual(await contents(engine.store));
    expect(await run(store)).toMatchObject({ restored: 'nothing' });
  });

  it('restores the id of the catalog on disk as well', async () => {
    const id = await catalogId();
    await rm(join(folder, 'id'));
    await run(new MemoryStore());
    expect(await catalogId()).toBe(id);
  });

  it('passes over a line that a crash tore', async () => {
    await appendFile(await journalFile(), '{"crc32":"00000000","sequence":"99"');
    expect(await run(new MemoryStore())).toMatchObject({ lost: [] });
  });
});

describe('a version on disk that the journal does not know', () => {
  /** Takes the last change out of the journal, with everything that the store knew of it. */
  async function loseLast(): Promise<void> {
    const path = await journalFile();
    const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
    await writeFile(path, `${lines.slice(0, -1).join('\n')}\n`);
  }

  async function manifests(): Promise<readonly string[]> {
    const [table = ''] = await readdir(join(engine.data, 'tables'));
    const versions = join(engine.data, 'tables', table, 'versions');
    return (await readdir(versions)).toSorted().map((name) => join(versions, name));
  }

  it('is the next one, when it follows the head and all its files are there', async () => {
    await post('table/ns$t/insert', goodRows);
    await loseLast();
    const store = new MemoryStore();
    expect(await run(store, { dryRun: true })).toMatchObject({ versions: 2, versionsAhead: 1 });
    const done = await run(store);
    expect(done).toMatchObject({ versionsAhead: 1, sequence: await engine.store.sequence() });
    const [held, known] = [await contents(store), await contents(engine.store)];
    expect(held.map(([key]) => key)).toEqual(known.map(([key]) => key));
    expect(await run(new MemoryStore())).toMatchObject({ versionsAhead: 0, versions: 3 });
  });

  it('is put aside when it is damaged, so that the next one can have its name', async () => {
    await post('table/ns$t/insert', goodRows);
    await loseLast();
    await writeFile((await manifests()).at(-1)!, 'rubbish');
    expect(await run(new MemoryStore())).toMatchObject({ versions: 2, versionsAhead: 0 });
    const names = (await manifests()).map((path) => path.slice(-6));
    expect(names.filter((end) => end === '.arrow')).toHaveLength(2);
    expect(names).toHaveLength(3);
  });

  it('is put aside when a file that it names is not there', async () => {
    const [table = ''] = await readdir(join(engine.data, 'tables'));
    const data = join(engine.data, 'tables', table, 'data');
    const before = await readdir(data);
    await post('table/ns$t/insert', goodRows);
    await loseLast();
    for (const name of await readdir(data)) if (!before.includes(name)) await rm(join(data, name));
    expect(await run(new MemoryStore())).toMatchObject({ versionsAhead: 0 });
  });

  it('does not count when it does not follow the head', async () => {
    const last = (await manifests()).at(-1)!;
    await link(last, last.replace(/2\.arrow$/, '4.arrow'));
    expect(await run(new MemoryStore())).toMatchObject({ versionsAhead: 0, versions: 2 });
  });
});

describe('what cannot be rebuilt', () => {
  it('is the store of another catalog', async () => {
    const store = new MemoryStore();
    await putInto(store, 'C', 'another');
    expect(await refusal(store)).toBe(
      `RebuildRefusal: the store belongs to the catalog another, but the folder to ${await catalogId()}: nothing was changed`,
    );
    expect(await contents(store)).toEqual([['C', 'another']]);
  });

  it('is a store that holds something else', async () => {
    const store = new MemoryStore();
    await putInto(store, 'x', 'y');
    const sentence =
      'RebuildRefusal: the store holds something, but no catalog: only an empty store is filled, so nothing was changed';
    expect(await refusal(store)).toBe(sentence);
    expect(await refusal(store, { force: true })).toBe(sentence);
  });

  it('is a catalog without a journal', async () => {
    await rm(await journalFile());
    expect(await refusal(new MemoryStore())).toBe(
      `RebuildRefusal: the journal in ${folder} holds no change: it cannot restore the catalog, which is ${await catalogId()}`,
    );
    await rm(join(folder, 'id'));
    expect(await refusal(new MemoryStore())).toBe(
      `RebuildRefusal: the journal in ${folder} holds no change: it cannot restore the catalog`,
    );
  });

  it('is a folder whose journal is that of another catalog', async () => {
    const id = await catalogId();
    await writeFile(join(folder, 'id'), 'mine');
    expect(await refusal(new MemoryStore())).toBe(
      `RebuildRefusal: the journal is of the catalog ${id}, but the folder of mine`,
    );
  });

  it('is a journal that lacks changes, unless that is wanted', async () => {
    const path = await journalFile();
    const lines = (await readFile(path, 'utf8')).split('\n');
    await writeFile(path, lines.toSpliced(1, 1).join('\n'));
    expect(await refusal(new MemoryStore())).toBe(
      'RebuildRefusal: change 2 is not in the journal: nothing was changed; --force goes on without',
    );
    await writeFile(path, lines.toSpliced(1, 2, 'rubbish').join('\n'));
    const file = path.slice(folder.length + 1);
    expect(await refusal(new MemoryStore())).toBe(
      `RebuildRefusal: line 2 of ${file} in the journal is damaged, and 1 more of the kind: nothing was changed; --force goes on without`,
    );
    const store = new MemoryStore();
    expect(await run(store, { force: true })).toMatchObject({
      restored: 'all',
      lost: [
        `line 2 of ${file} in the journal is damaged`,
        'changes 2 to 3 are not in the journal',
      ],
    });
    expect((await contents(store)).length).toBeGreaterThan(0);
  });

  it('is a journal that says two things of one change, whatever is wanted', async () => {
    const fork = encodeChange({ sequence: 2n, writes: [] });
    await writeFile(join(folder, 'journal-00000000000000000002-ff-1.jsonl'), fork);
    const sentence =
      'RebuildRefusal: two different changes in the journal have the number 2: nothing was changed';
    expect(await refusal(new MemoryStore())).toBe(sentence);
    expect(await refusal(new MemoryStore(), { force: true })).toBe(sentence);
  });

  it('is a folder of a newer format', async () => {
    await writeFile(join(engine.data, 'FORMAT'), '3\n');
    expect(await refusal(new MemoryStore())).toMatch(/says format 3; this program reads up to/);
  });

  it('is a journal without any file of its own', async () => {
    await rm(folder, { recursive: true });
    await mkdir(folder);
    expect(await refusal(new MemoryStore())).toMatch(/holds no change/);
  });
});
