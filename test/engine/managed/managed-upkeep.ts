import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { versionFile } from '../../../src/engine/format/lance/version-file.ts';
import { wireLocation } from '../../../src/storage/object-key.ts';
import { collect } from '../../support/dropped.ts';
import { refusalOf } from '../../support/engine-table.ts';
import type { TestEngine } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { ManagedTable, manifestOf } from '../../support/managed-table.ts';
import { ask } from '../../support/request.ts';

let engine: TestEngine;
let table: ManagedTable;

const final = (version: bigint) => join('_versions', versionFile(version, 'V2'));
const data = (name: string) => `data/${name}.lance`;

/** Commits a version of one data file, which is there. */
async function commit(version: bigint, file: string): Promise<void> {
  await table.put(data(file), Buffer.alloc(100));
  const staged = `${final(version)}-${file}`;
  await table.put(staged, manifestOf(version, 1, file));
  await table.create(version, table.keyOf(staged));
}

/** Collects until nothing is left to remove: times of files are coarse, and those of objects more so. */
async function collectAll(): Promise<number> {
  let files = 0;
  await eventually(async () => {
    const done = await collect(engine, { clientFilesMillis: 0 });
    expect(done.failures).toEqual([]);
    files += done.files;
    expect(files).toBeGreaterThan(0);
  });
  return files;
}

/** What upkeep does with tables of Lance clients, wherever they lie. */
export function managedUpkeep(name: string, openEngine: () => Promise<TestEngine>): void {
  describe(name, () => {
    beforeEach(async () => {
      engine = await openEngine();
      table = await ManagedTable.open(engine);
      await commit(1n, 'one');
      await commit(2n, 'two');
    });

    afterEach(() => table.close());

    it('brings a dropped table back, and removes it with its files when its time is over', async () => {
      const { location } = table;
      const before = await table.files();
      expect((await table.send('drop')).json).toMatchObject({ location });
      const { dropped } = engine.upkeep!;
      expect(await dropped.list()).toMatchObject([{ path: ['t'], kind: 'lance' }]);
      await dropped.undrop(['t']);
      expect(await table.versions()).toEqual([1, 2]);
      expect(await table.files()).toEqual(before);
      await table.send('drop');
      const other = await table.further('u');
      await other.commit(1n);
      await eventually(async () => {
        await collect(engine, { orphans: false });
        expect(await table.files()).toEqual([]);
      });
      expect(await dropped.list()).toEqual([]);
      expect(await other.versions()).toEqual([1]);
      expect(await refusalOf(dropped.undrop(['t']))).toMatch(/^4 /);
    });

    it('removes files that no manifest names, and staged manifests', async () => {
      const staged = `${final(3n)}-x`;
      await table.put(staged, manifestOf(3n, 1, 'three'));
      await table.put(data('three'), Buffer.alloc(7));
      await table.put('notes.txt', 'of a client');
      const dry = await engine.upkeep!.collector.collect({
        retentionMillis: 0,
        olderThanMillis: 3_600_000,
      });
      expect([dry.files, dry.failures]).toEqual([0, []]);
      while ((await table.files()).includes(data('three'))) await collectAll();
      expect(await table.files()).toEqual(
        [final(1n), final(2n), data('one'), data('two'), 'notes.txt'].toSorted(),
      );
      expect(await table.versions()).toEqual([1, 2]);
    });

    it('finds what is missing or another', async () => {
      const verify = async () => (await engine.upkeep!.verifier.verify({})).findings;
      expect(await verify()).toEqual([]);
      await table.remove(data('one'));
      await table.put(data('two'), Buffer.alloc(99));
      expect((await verify()).map(({ file, fault }) => `${file} ${fault}`).toSorted()).toEqual([
        'data/one.lance is missing',
        'data/two.lance has 99 bytes, but the manifest says 100',
      ]);
      await table.put(final(2n), 'something else');
      expect((await verify()).map(({ file }) => file)).toContain(final(2n));
    });

    it('keeps the files of a table that was registered where it lies', async () => {
      const folder = join(engine.allowed, 'theirs');
      await engine.storage.folders?.make(join(folder, '_versions'));
      await engine.storage.write(join(folder, final(1n)), manifestOf(1n));
      const body = { location: wireLocation(folder) };
      const register = () => table.send('register', { body }, 'r');
      expect((await register()).json).toMatchObject(body);
      expect((await table.send('describe', {}, 'r')).json).toMatchObject({ ...body, version: 1 });
      expect(await refusalOf(table.send('register', { body }, 's'))).toBe(
        `13 the location ${JSON.stringify(body.location)} overlaps the location of another table`,
      );
      expect((await table.send('deregister', {}, 'r')).json).toMatchObject(body);
      await register();
      await table.send('drop', {}, 'r');
      await collect(engine, { orphans: false });
      expect(await engine.storage.stat(join(folder, final(1n)))).toBeDefined();
    });

    it('adopts versions that were written without the catalog', async () => {
      const body = { properties: { external_writes: 'adopt' } };
      const { json } = await table.send('declare', { body }, 'a');
      expect(json).toMatchObject({ location: expect.stringMatching(/\.lance$/) });
      const own = table.again('a', json);
      await own.put(final(1n), manifestOf(1n, 4));
      await own.put(final(2n), manifestOf(2n, 6));
      expect(await own.post('describe')).toMatchObject({ version: 2 });
      expect(await own.versions()).toEqual([1, 2]);
      await own.commit(3n);
      expect(await own.versions()).toEqual([1, 2, 3]);
    });

    it('accepts a version that was written without the catalog, or sets it aside', async () => {
      const { upkeep } = engine;
      const at = (version: bigint) => ({ path: ['t'], branch: 'main', version });
      for (const version of [3n, 4n]) await table.put(final(version), manifestOf(version));
      expect((await upkeep!.verifier.verify({})).findings).toHaveLength(2);
      expect(await upkeep!.acceptExternal(at(3n))).toEqual({ versions: [3n], next: 4n });
      expect(await upkeep!.setExternalAside(at(4n))).toEqual({ versions: [4n], next: null });
      expect(await table.versions()).toEqual([1, 2, 3]);
      expect(await table.files()).toContain(final(4n).replace('_versions', '_set_aside'));
      await table.commit(4n);
      expect(await table.versions()).toEqual([1, 2, 3, 4]);
    });

    it.each([
      ['that lies elsewhere', (allowed: string) => `${allowed}/../elsewhere`],
      ['that holds everything', (allowed: string) => join(allowed, '..')],
      ['that is not empty', (allowed: string) => join(allowed, 'full')],
    ])('refuses a location %s', async (_, at) => {
      await engine.storage.folders?.make(join(engine.allowed, 'full'));
      await engine.storage.write(join(engine.allowed, 'full', 'x'), Buffer.from('x'));
      const location = wireLocation(at(engine.allowed));
      const declaring = ask(engine.backend, 'POST /v1/table/z/declare', { body: { location } });
      expect(await refusalOf(declaring)).toMatch(
        /^13 the location .* (?:lies outside the folders where tables may be|is not an empty folder)$/,
      );
      expect(await refusalOf(table.send('describe', {}, 'z'))).toMatch(/^4 /);
    });
  });
}
