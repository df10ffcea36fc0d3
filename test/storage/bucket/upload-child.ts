import { BucketStorage } from '../../../src/storage/bucket/bucket-storage.ts';
import type { BucketPlace } from '../../../src/storage/bucket/bucket-place.ts';

/** A process that uploads one object in three parts. Arguments: its place as JSON, a folder, the key. */

const MIB = 2 ** 20;

/** The bytes that it uploads. */
export function uploadedBytes(): Buffer {
  return Buffer.alloc(11 * MIB, 'bytes of an upload');
}

const [place, spill = '', key = ''] = process.argv.slice(2);
if (place !== undefined && process.argv[1]?.endsWith('upload-child.ts') === true) {
  const parts = { first: 5 * MIB, later: 5 * MIB };
  const storage = new BucketStorage(JSON.parse(place) as BucketPlace, { spill, parts });
  const object = storage.create(key);
  await object.write([uploadedBytes()]);
  await object.end();
  storage.close();
}
