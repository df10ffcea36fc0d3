import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Catalog } from '../../../../src/engine/catalog/catalog.ts';
import { MAIN } from '../../../../src/engine/format/chain.ts';
import { versionRequest } from '../../../../src/engine/handlers/versions/create-version.ts';
import { Branches } from '../../../../src/engine/versions/lines/branches.ts';
import { VersionStore } from '../../../../src/engine/versions/lines/version-store.ts';
import { durableGates } from '../../../../src/engine/versions/managed/durable-files.ts';
import { KnownManifests } from '../../../../src/engine/versions/managed/known-manifests.ts';
import { VersionPlan } from '../../../../src/engine/versions/managed/version-creation.ts';
import { LocalStorage } from '../../../../src/storage/local-storage.ts';
import { FlushedPaths } from '../../../support/flushed-paths.ts';
import { ManagedTable, manifestOf } from '../../../support/managed-table.ts';
import { manifestName } from '../../../support/lance-table.ts';

let table: ManagedTable;
const manifests = new KnownManifests();

beforeEach(async () => {
  table = await ManagedTable.open();
});

afterEach(async () => {
  vi.restoreAllMocks();
  await table.close();
});

/** Stages a version whose rows lie in a file. Gives its key in the object store. */
async function staged(version: bigint, file: string): Promise<string> {
  const path = join(table.location, '_versions', `${manifestName(version)}-staged`);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, manifestOf(version, 3, file));
  return path.slice(1);
}

async function dataFile(name: string): Promise<string> {
  const path = join(table.location, 'data', `${name}.lance`);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, 'rows');
  return path;
}

/** Plans a version as a change of the library does, and commits it. */
async function commit(version: number, manifest_path: string): Promise<void> {
  const { store } = table.engine;
  const committer = { commit: store.commit.bind(store) };
  const branches = new Branches(store, committer);
  const catalog = new Catalog(store, committer);
  const [storage, versions] = [new LocalStorage(), new VersionStore(store)];
  const retained: readonly string[] = [];
  const parts = { storage, versions, store, branches, catalog, committer, manifests, retained };
  const plan = new VersionPlan(parts, 0, new Set(), durableGates({}));
  const request = versionRequest(['t'], { version, manifest_path }, MAIN);
  const { checks, writes } = await plan.add(request);
  expect(await store.commit(checks, writes)).toMatchObject({ kind: 'committed' });
}

it('puts the rows and the manifest of a version on stable storage before it can be committed', async () => {
  const first = await dataFile('first');
  const flushed = new FlushedPaths();
  await commit(1, await staged(1n, 'first'));
  const versions = join(table.location, '_versions');
  for (const path of [first, join(first, '..'), table.location, versions])
    expect([path, flushed.has(path)]).toEqual([path, true]);
  expect(flushed.hasIn(versions)).toBe(true);
});

it('flushes only what a version adds', async () => {
  const first = await dataFile('first');
  await commit(1, await staged(1n, 'first'));
  const second = await dataFile('second');
  const flushed = new FlushedPaths();
  await commit(2, await staged(2n, 'second'));
  expect([flushed.has(first), flushed.has(second)]).toEqual([false, true]);
});

it('refuses a version whose rows are gone, whose manifest alone is sound', async () => {
  await expect(commit(1, await staged(1n, 'lost'))).rejects.toThrow('ENOENT');
});
