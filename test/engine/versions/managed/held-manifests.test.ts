import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { holdStaged } from '../../../../src/engine/versions/managed/held-manifests.ts';
import { finaliseManifest } from '../../../../src/engine/versions/managed/managed-manifests.ts';
import { BucketStorage } from '../../../../src/storage/bucket/bucket-storage.ts';
import { LocalStorage } from '../../../../src/storage/local-storage.ts';
import { objectRoot } from '../../../../src/storage/object-key.ts';
import type { Ownership } from '../../../../src/storage/storage.ts';
import { BucketServer, hasBuckets } from '../../../support/bucket-server.ts';
import { testFolders } from '../../../support/folder.ts';

const newFolder = testFolders();

describe.runIf(hasBuckets)('a staged manifest that its writer replaces after it was judged', () => {
  let server: BucketServer;
  let bucket: BucketStorage;
  let root: string;
  beforeAll(async () => {
    server = await BucketServer.start('moto');
    const place = server.place();
    root = objectRoot(place.bucket, place.prefix);
    bucket = new BucketStorage(place, { spill: await newFolder(), root });
  });
  afterAll(async () => {
    bucket.close();
    await server.stop();
  });

  /** Opens a staged manifest, replaces it, and then holds it. */
  async function replaced(judged: Buffer, other: Buffer): Promise<Buffer> {
    const location = `${root}/${randomUUID()}.lance`;
    const staging = '_versions/1.manifest-x';
    const held = '_versions/1.manifest.y';
    await bucket.putIfAbsent(`${location}/${staging}`, judged);
    const file = await bucket.open(`${location}/${staging}`);
    await bucket.replace(`${location}/${staging}`, other);
    await holdStaged(bucket, location, { file, staging, held }, true);
    return Buffer.from(await bucket.read(`${location}/${held}`));
  }

  it('is committed as it was judged', async () => {
    expect(String(await replaced(Buffer.from('judged'), Buffer.from('others')))).toBe('judged');
  });

  it('is refused if not all of its bytes were read before', async () => {
    const large = (fill: string) => Buffer.alloc(200_000, fill);
    await expect(replaced(large('a'), large('b'))).rejects.toMatchObject({
      row: { name: 'ConcurrentModification' },
      message: expect.stringContaining('was replaced while it was committed'),
    });
  });
});

describe('a manifest that was held in a folder', () => {
  const names = {
    manifest: '_versions/1.manifest',
    staging: '_versions/1.manifest.held',
    claimed: '_versions/1.manifest-x',
  };

  /** A storage of a folder that tells which names it was asked for. */
  class Asked extends LocalStorage {
    readonly names: string[] = [];

    override ownership(folder: string, name: string): Promise<Ownership> {
      this.names.push(name);
      return super.ownership(folder, name);
    }
  }

  async function held(location: string): Promise<void> {
    await mkdir(join(location, '_versions'), { recursive: true });
    for (const name of [names.staging, names.claimed]) await writeFile(join(location, name), 'it');
  }

  it('is not looked for by that name once it has its own alone', async () => {
    const [location, storage] = [await newFolder(), new Asked()];
    await held(location);
    expect(await finaliseManifest(storage, location, names)).toBe(true);
    expect(await readdir(join(location, '_versions'))).toEqual(['1.manifest']);
    storage.names.length = 0;
    expect(await finaliseManifest(storage, location, names)).toBe(true);
    expect(storage.names).toEqual([names.manifest]);
  });

  it('gets its own name after the folder was away', async () => {
    const [location, storage] = [join(await newFolder(), 't.lance'), new Asked()];
    await held(location);
    await rename(location, `${location}.away`);
    expect(await finaliseManifest(storage, location, names)).toBe(false);
    await rename(`${location}.away`, location);
    expect(await finaliseManifest(storage, location, names)).toBe(true);
    expect(await readdir(join(location, '_versions'))).toEqual(['1.manifest']);
  });
});
