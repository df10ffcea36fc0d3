import { readdir, realpath } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BucketStorage } from '../../../src/storage/bucket/bucket-storage.ts';
import type { BucketPlace } from '../../../src/storage/bucket/bucket-place.ts';
import { storageConformance } from '../../conformance/storage.ts';
import { BucketServer, hasBuckets, type BucketServerKind } from '../../support/bucket-server.ts';
import { FaultyProxy } from '../../support/faulty-proxy.ts';
import { testFolders } from '../../support/folder.ts';

const newFolder = testFolders();
const MIB = 2 ** 20;

const kinds: readonly BucketServerKind[] = ['seaweedfs', 'moto'];

describe.runIf(hasBuckets).each(kinds)('a bucket of %s', (kind) => {
  let server: BucketServer;
  const opened: BucketStorage[] = [];
  beforeAll(async () => {
    server = await BucketServer.start(kind);
  });
  afterAll(async () => {
    for (const storage of opened) storage.close();
    await server.stop();
  });

  async function storageAt(more: Partial<BucketPlace> = {}, root = ''): Promise<BucketStorage> {
    const parts = { first: 5 * MIB, later: 5 * MIB };
    const options = { spill: await newFolder(), parts, root };
    const storage = new BucketStorage(server.place(more), options);
    opened.push(storage);
    return storage;
  }

  const root = kind === 'moto' ? '/s3:/lake' : '';
  storageConformance(async () => ({
    storage: await storageAt({}, root),
    folder: `${root}/folder`,
  }));

  it('has neither folders nor files, and temporary objects lie on the disk', async () => {
    const spill = await realpath(await newFolder());
    const storage = new BucketStorage(server.place(), { spill });
    opened.push(storage);
    expect([storage.folders, storage.files]).toEqual([undefined, undefined]);
    expect(await storage.freeBytes()).toBeLessThan(Infinity);
    const object = storage.temporary('/folder/rows');
    await object.write([Buffer.from('rows')]);
    expect(await readdir(spill)).toEqual([]);
    await object.close();
  });

  it('keeps to its prefix, and leaves nothing of its probe', async () => {
    const place = server.place();
    const inner = await storageAt(place);
    const outer = await storageAt({ prefix: place.prefix.slice(0, place.prefix.indexOf('/')) });
    await inner.write('/one', Buffer.from('1'));
    const name = place.prefix.slice(place.prefix.indexOf('/'));
    expect((await outer.read(`${name}/one`)).toString()).toBe('1');
    expect(await inner.names('/')).toEqual(['one']);
    expect(await outer.ownership('/', name.slice(1))).toBe('own');
  });

  it('takes names as they are', async () => {
    const storage = await storageAt();
    const names = ['a b+c', 'ä', 'x&<y>', "it's", '100%25', '...', 'q?a=b#c'];
    for (const name of names) await storage.write(`/folder/${name}`, Buffer.from(name));
    expect((await storage.names('/folder')).toSorted()).toEqual(names.toSorted());
    for (const name of names) {
      expect((await storage.read(`/folder/${name}`)).toString()).toBe(name);
    }
    const { files } = await storage.removeTree('/folder', { retained: [] });
    expect([files, await storage.names('/folder')]).toEqual([names.length, []]);
  });

  it('has the keys below its root alone', async () => {
    const storage = await storageAt({}, '/s3:/lake/a');
    await storage.write('/s3:/lake/a/x/y', Buffer.from('y'));
    expect(await storage.names('/s3:/lake/a')).toEqual(['x']);
    const paths: string[] = [];
    for await (const { path } of storage.tree('/s3:/lake/a')) paths.push(path);
    expect(paths.toSorted()).toEqual(['/s3:/lake/a/x', '/s3:/lake/a/x/y']);
    for (const key of ['/x', '/s3:/lake/ab', '/s3:/lake']) {
      await expect(storage.read(key)).rejects.toMatchObject({ code: 'EINVAL' });
    }
  });

  it('refuses a backslash, which some stores take for a slash', async () => {
    const storage = await storageAt();
    const write = storage.write('/folder/a\\b', Buffer.from('x'));
    await expect(write).rejects.toMatchObject({ code: 'EINVAL' });
  });

  it('lists more than one page', async () => {
    const storage = await storageAt({ page: 4 });
    const names = Array.from({ length: 11 }, (_, at) => `object-${at}`);
    for (const name of names) await storage.write(`/folder/${name}/x`, Buffer.from('x'));
    expect((await storage.names('/folder')).toSorted()).toEqual(names.toSorted());
    const paths: string[] = [];
    for await (const { path } of storage.tree('/folder')) paths.push(path);
    expect(paths.toSorted()).toEqual(
      names.flatMap((name) => [`/folder/${name}`, `/folder/${name}/x`]).toSorted(),
    );
    const freed = await storage.removeTree('/folder', { retained: [] });
    expect(freed).toEqual({ files: names.length, bytes: names.length });
    expect(await storage.ownership('/', 'folder')).toBe('absent');
  });

  it('takes large objects in parts, and copies them', async () => {
    const storage = await storageAt();
    const bytes = Buffer.alloc(12 * MIB + 5);
    for (let at = 0; at < bytes.length; at += 1000)
      bytes.writeUInt32LE(at, Math.min(at, bytes.length - 4));
    const object = storage.create('/folder/large');
    for (let at = 0; at < bytes.length; at += MIB) {
      const piece = Buffer.from(bytes.subarray(at, at + MIB));
      await object.write([piece]);
      piece.fill(0);
    }
    await object.end();
    await object.sync();
    expect((await storage.read('/folder/large')).equals(bytes)).toBe(true);
    expect(await storage.copy('/folder/large', '/folder/copy')).toEqual({
      linked: false,
      bytes: bytes.length,
    });
    expect((await storage.read('/folder/copy')).equals(bytes)).toBe(true);
    const late = storage.create('/folder/copy');
    await late.write([bytes]);
    await expect(late.end()).rejects.toMatchObject({ code: 'EEXIST' });
    await late.abandon();
    expect((await storage.names('/folder')).toSorted()).toEqual(['copy', 'large']);
  });

  it('is refused if it is not there, or if its conditions count for nothing', async () => {
    // SeaweedFS makes a bucket that is missing, and compares signatures.
    if (kind !== 'moto') return;
    const elsewhere = await storageAt({ bucket: 'another' });
    await expect(elsewhere.read('/x')).rejects.toThrow(
      'the object store lake refuses the gateway: NoSuchBucket (404); check its url',
    );
    const proxy = await FaultyProxy.before(server.endpoint);
    proxy.dropped = ['if-none-match'];
    try {
      const storage = await storageAt({ endpoint: proxy.url });
      await expect(storage.write('/x', Buffer.from('x'))).rejects.toThrow(
        'the object store lake cannot be used: it does not honour conditional requests',
      );
      expect(await storage.probe().catch(({ name }: Error) => name)).toBe('StorageRefused');
      proxy.dropped = ['range'];
      const other = await storageAt({ endpoint: proxy.url });
      await expect(other.probe()).rejects.toThrow(
        'the object store lake cannot be used: it answers other bytes than the range',
      );
    } finally {
      await proxy.close();
    }
  });

  it('refuses wrong credentials without showing them', async () => {
    if (kind === 'moto') return;
    const storage = await storageAt({ credentials: { id: 'arrowgate', secret: 'wrong-secret' } });
    const error = await storage.read('/x').catch((each: Error) => each);
    expect(String(error)).toMatch(/refuses the gateway: SignatureDoesNotMatch \(403\)/);
    expect(String(error)).not.toContain('secret');
  });
});
