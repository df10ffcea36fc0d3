import { describe, expect, it } from 'vitest';
import type { Storage } from '../../src/storage/storage.ts';

/** A storage to test, and a folder in it that exists and is empty. */
export interface StorageUnderTest {
  readonly storage: Storage;
  readonly folder: string;
}

/** What every storage does. `open` gives an empty one for each test. */
export function storageConformance(open: () => Promise<StorageUnderTest>): void {
  describe('objects', () => {
    it('are read whole and by ranges, at once or not', async () => {
      const { storage, folder } = await open();
      const [key, bytes] = [`${folder}/large`, Buffer.alloc(300_000, 'abc')];
      await storage.write(key, bytes);
      expect((await storage.read(key)).equals(bytes)).toBe(true);
      const object = await storage.open(key);
      expect([object.size(), object.plainSize()]).toEqual([300_000, 300_000]);
      expect(await readText(object, 30_000, 5)).toBe('abcab');
      const many = Buffer.alloc(200_000);
      expect(await object.read(many, 99_999)).toBe(200_000);
      expect(many.equals(bytes.subarray(99_999, 299_999))).toBe(true);
      const few = Buffer.alloc(4);
      const now = object.readNow(few, 3);
      expect(now === undefined || few.toString() === 'abca').toBe(true);
      expect(await object.read(Buffer.alloc(10), 299_998)).toBe(2);
      expect(await object.read(Buffer.alloc(10), 300_000)).toBe(0);
      expect(object.isRemoved()).toBe(false);
      await object.sync();
      object.close();
      object.close();
    });

    it('are streamed piece by piece, and may be empty', async () => {
      const { storage, folder } = await open();
      const object = storage.create(`${folder}/new`);
      await object.write([Buffer.from('one '), Buffer.alloc(0), Buffer.from('two ')]);
      await object.write([Buffer.from('three')]);
      await object.end();
      await object.sync();
      await storage.flush(folder);
      expect((await storage.read(`${folder}/new`)).toString()).toBe('one two three');
      await storage.write(`${folder}/empty`, new Uint8Array());
      expect((await storage.read(`${folder}/empty`)).length).toBe(0);
    });

    it('that are given up are gone once they are removed', async () => {
      const { storage, folder } = await open();
      const object = storage.create(`${folder}/new`);
      await object.write([Buffer.from('one')]);
      await object.abandon();
      await storage.remove(`${folder}/new`);
      expect(await storage.stat(`${folder}/new`)).toBeUndefined();
      expect(await storage.names(folder)).toEqual([]);
    });

    it('that are temporary are written, then read, and have no name', async () => {
      const { storage, folder } = await open();
      const key = `${folder}/temporary`;
      expect(await storage.freeBytes(folder)).toBeGreaterThan(0);
      const object = storage.temporary(key);
      await object.write([Buffer.from('one '), Buffer.from('two ')]);
      await object.write([Buffer.from('three')]);
      expect(await readText(await object.written(), 4, 9)).toBe('two three');
      expect(await storage.names(folder)).toEqual([]);
      await storage.write(key, Buffer.from('another'));
      await object.close();
      expect((await storage.read(key)).toString()).toBe('another');
      // A storage that does not need the name does not mind that it is taken.
      const refused = await second(storage, key).catch((error: unknown) => error);
      if (refused !== undefined) expect(refused).toMatchObject({ code: 'EEXIST' });
      expect((await storage.read(key)).toString()).toBe('another');
    });

    it('keep their bytes for a reader while another object gets the name', async () => {
      const { storage, folder } = await open();
      const key = `${folder}/object`;
      await storage.replace(key, Buffer.from('old'));
      const object = await storage.open(key);
      await storage.replace(key, Buffer.from('new!'));
      expect(await readText(object, 0, 3)).toBe('old');
      object.close();
      expect((await storage.read(key)).toString()).toBe('new!');
    });

    it('that are large and get replaced keep their bytes for a reader, or are not read on', async () => {
      const { storage, folder } = await open();
      const key = `${folder}/object`;
      const bytes = Buffer.alloc(300_000, 'old ');
      await storage.replace(key, bytes);
      const object = await storage.open(key);
      await storage.replace(key, Buffer.alloc(300_000, 'new '));
      const read = await readText(object, 200_000, 8).catch((error: unknown) => error);
      if (typeof read === 'string') expect(read).toBe('old old ');
      else expect(read).toMatchObject({ code: 'ESTALE' });
      object.close();
    });

    it('that are missing are said to be', async () => {
      const { storage, folder } = await open();
      const missing = { code: 'ENOENT' };
      const key = `${folder}/missing`;
      await expect(async () => storage.open(key)).rejects.toMatchObject(missing);
      await expect(storage.read(key)).rejects.toMatchObject(missing);
      await expect(storage.copy(key, `${folder}/x`, true)).rejects.toMatchObject(missing);
      await expect(storage.linkIfAbsent(key, `${folder}/x`)).rejects.toMatchObject(missing);
      await expect(async () => storage.renameIfAbsent(key, `${folder}/x`)).rejects.toMatchObject(
        missing,
      );
      expect(await storage.stat(key)).toBeUndefined();
      expect(await storage.stamp(key)).toBeUndefined();
      expect(await storage.ownership(folder, 'missing')).toBe('absent');
      expect(await storage.remove(key)).toEqual({ files: 0, bytes: 0 });
      await storage.discard(key);
      expect(await storage.names(folder)).toEqual([]);
    });

    it('have a stamp that changes with their bytes alone', async () => {
      const { storage, folder } = await open();
      const key = `${folder}/object`;
      await storage.replace(key, Buffer.from('one'));
      const stamp = await storage.stamp(key);
      expect(await storage.stamp(key)).toBe(stamp);
      await storage.replace(key, Buffer.from('two'));
      expect(await storage.stamp(key)).not.toBe(stamp);
    });

    it('are described', async () => {
      const { storage, folder } = await open();
      await storage.write(`${folder}/object`, Buffer.from('four'));
      const stat = await storage.stat(`${folder}/object`);
      expect(stat).toMatchObject({ isFile: true, isFolder: false, isLink: false, bytes: 4 });
      expect(stat!.writtenMillis).toBeGreaterThan(0);
      expect(await storage.ownership(folder, 'object')).toBe('own');
    });
  });

  describe('names', () => {
    it('are given to one of many that race for them', async () => {
      const { storage, folder } = await open();
      const key = `${folder}/one`;
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, at) => storage.putIfAbsent(key, Buffer.from(`by ${at}`))),
      );
      expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(1);
      expect((await storage.read(key)).toString()).toBe(`by ${outcomes.indexOf('created')}`);
      expect(await storage.names(folder)).toEqual(['one']);
    });

    it('that are taken are refused, and what has them stays', async () => {
      const { storage, folder } = await open();
      const [key, other] = [`${folder}/taken`, `${folder}/other`];
      await storage.write(key, Buffer.from('first'));
      await storage.write(other, Buffer.from('second'));
      await expect(made(storage, key)).rejects.toMatchObject({ code: 'EEXIST' });
      expect(await storage.putIfAbsent(key, Buffer.from('x'))).toBe('exists');
      expect(await storage.linkIfAbsent(other, key)).toBe('exists');
      expect(await storage.renameIfAbsent(other, key)).toBe('exists');
      await expect(storage.copy(other, key, false)).rejects.toMatchObject({ code: 'EEXIST' });
      expect((await storage.read(key)).toString()).toBe('first');
      expect((await storage.read(other)).toString()).toBe('second');
    });

    it('can be given to another object in place of the one that has it', async () => {
      const { storage, folder } = await open();
      const [key, other] = [`${folder}/a`, `${folder}/b`];
      await storage.write(key, Buffer.from('first'));
      await storage.write(other, Buffer.from('second'));
      await storage.rename(other, key);
      expect((await storage.read(key)).toString()).toBe('second');
      expect(await storage.names(folder)).toEqual(['a']);
    });

    it('can be second ones, others, or those of copies', async () => {
      const { storage, folder } = await open();
      const [one, two, three] = ['one', 'two', 'three'].map((name) => `${folder}/${name}`);
      await storage.write(one!, Buffer.from('bytes'));
      expect(await storage.linkIfAbsent(one!, two!)).toBe('created');
      expect(await storage.renameIfAbsent(one!, three!)).toBe('created');
      expect(new Set(await storage.names(folder))).toEqual(new Set(['two', 'three']));
      expect(await storage.copy(two!, one!, false)).toEqual({ linked: false, bytes: 5 });
      const { linked, bytes } = await storage.copy(two!, `${folder}/shared`, true);
      expect(bytes).toBe(linked ? 0 : 5);
      for (const name of ['one', 'two', 'three', 'shared']) {
        expect((await storage.read(`${folder}/${name}`)).toString()).toBe('bytes');
      }
    });

    it.each(['', 'name', '/', '/a/', '//a', '/a//b', '/a/./b', '/a/../b', '/..', '/a/..', '/a\0b'])(
      '%j is refused as a key',
      async (key) => {
        const { storage, folder } = await open();
        const bytes = Buffer.from('x');
        const calls: (() => unknown)[] = [
          () => storage.open(key),
          () => storage.read(key),
          () => storage.stat(key),
          () => storage.stamp(key),
          () => storage.create(key),
          () => storage.write(key, bytes),
          () => storage.putIfAbsent(key, bytes),
          () => storage.replace(key, bytes),
          () => storage.note(key, bytes),
          () => storage.linkIfAbsent(`${folder}/a`, key),
          () => storage.renameIfAbsent(key, `${folder}/a`),
          () => storage.copy(key, `${folder}/a`, true),
          () => storage.remove(key),
          () => storage.discard(key),
          () => storage.removeTree(key, { retained: [] }),
        ];
        if (key !== '/') {
          calls.push(
            () => storage.resolve(key),
            () => storage.names(key),
            () => storage.flush(key),
          );
        }
        await storage.write(`${folder}/a`, bytes);
        for (const call of calls) {
          await expect(async () => call()).rejects.toThrow(`${JSON.stringify(key)} is no key`);
        }
        expect(await storage.names(folder)).toEqual(['a']);
      },
    );
  });

  describe('folders', () => {
    const inner = async ({ storage, folder }: StorageUnderTest): Promise<void> => {
      await storage.folders?.make(`${folder}/a/b`);
      for (const name of ['a/one', 'a/b/two', 'a/b/three', 'ab']) {
        await storage.write(`${folder}/${name}`, Buffer.from(name));
      }
    };

    it('are listed, one level or all', async () => {
      const tested = await open();
      await inner(tested);
      const { storage, folder } = tested;
      expect((await storage.names(folder))?.toSorted()).toEqual(['a', 'ab']);
      const entries = await all(storage.entries(`${folder}/a`));
      expect(entries.map(({ path, isFolder, bytes }) => [path, isFolder, bytes])).toEqual([
        [`${folder}/a/b`, true, 0],
        [`${folder}/a/one`, false, 5],
      ]);
      const tree = await all(storage.tree(folder));
      expect(tree.map(({ path }) => path.slice(folder.length))).toEqual([
        '/a',
        '/a/b',
        '/a/b/three',
        '/a/b/two',
        '/a/one',
        '/ab',
      ]);
    });

    it('that are missing hold nothing', async () => {
      const { storage, folder } = await open();
      const missing = `${folder}/missing`;
      expect((await storage.names(missing)) ?? []).toEqual([]);
      expect(await all(storage.entries(missing))).toEqual([]);
      expect(await all(storage.tree(missing))).toEqual([]);
      expect(await storage.removeTree(missing, { retained: [] })).toEqual({ files: 0, bytes: 0 });
    });

    it('are removed with their content, or counted', async () => {
      const tested = await open();
      await inner(tested);
      const { storage, folder } = tested;
      const freed = { files: 3, bytes: 21 };
      const options = { retained: [] };
      expect(await storage.removeTree(`${folder}/a`, { ...options, dryRun: true })).toEqual(freed);
      expect(await storage.remove(`${folder}/ab`, true)).toEqual({ files: 1, bytes: 2 });
      expect(await all(storage.tree(folder))).toHaveLength(6);
      expect(await storage.removeTree(`${folder}/a`, options)).toEqual(freed);
      // An object store may name a folder for a while after its last object.
      const left = await all(storage.tree(folder));
      expect(left.map(({ path }) => path)).toEqual([`${folder}/ab`]);
    });

    it('that are kept are not removed', async () => {
      const tested = await open();
      await inner(tested);
      const { storage, folder } = tested;
      await expect(storage.removeTree(folder, { retained: [`${folder}/a/b`] })).rejects.toThrow(
        'is a folder that the gateway needs for itself',
      );
      expect((await storage.read(`${folder}/a/b/two`)).toString()).toBe('a/b/two');
    });
  });
}

/** Makes an object in the way of streams. */
async function made(storage: Storage, key: string): Promise<void> {
  const object = storage.create(key);
  await object.write([Buffer.from('made')]);
  await object.end();
  await object.sync();
}

/** Makes and closes a temporary object. */
async function second(storage: Storage, key: string): Promise<void> {
  const object = storage.temporary(key);
  await object.write([Buffer.from('temporary')]);
  await object.close();
}

async function readText(
  object: { read(into: Uint8Array, position: number): Promise<number> },
  position: number,
  length: number,
): Promise<string> {
  const bytes = Buffer.alloc(length);
  return bytes.toString('utf8', 0, await object.read(bytes, position));
}

async function all<Entry extends { readonly path: string }>(
  entries: AsyncIterable<Entry>,
): Promise<readonly Entry[]> {
  const found: Entry[] = [];
  for await (const entry of entries) found.push(entry);
  return found.toSorted((one, other) => (one.path < other.path ? -1 : 1));
}
