import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { holdStaged } from '../../../../src/engine/versions/managed/held-manifests.ts';
import { BucketStorage } from '../../../../src/storage/bucket/bucket-storage.ts';
import { objectRoot } from '../../../../src/storage/object-key.ts';
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
