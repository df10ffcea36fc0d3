import { randomBytes, randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from '@node-rs/crc32';
import { afterEach, describe, expect, it } from 'vitest';
import { readShared } from '../../../src/lance/worker/shared-rows.ts';
import { LocalStorage } from '../../../src/storage/local-storage.ts';
import type { TemporaryObject } from '../../../src/storage/storage.ts';

const opened: TemporaryObject[] = [];
afterEach(async () => {
  for (const object of opened.splice(0)) await object.close();
});

/** A path of bytes without a name. */
async function share(bytes: Uint8Array): Promise<string> {
  const object = new LocalStorage().temporary(join(tmpdir(), randomUUID()));
  opened.push(object);
  await object.write([bytes]);
  return (await object.written()).sharedPath!()!;
}

const wanted = (): boolean => false;

// Other systems have no path of a descriptor: the rows go through the socket there.
describe.runIf(process.platform === 'linux')('rows that lie on the disk', () => {
  it('are read from where they begin, in several reads', async () => {
    const bytes = randomBytes(10 * 2 ** 20);
    const path = await share(bytes);
    const rows = bytes.subarray(1000, 9 * 2 ** 20);
    const into = Buffer.alloc(rows.length);
    const isRead = await readShared({ path, start: 1000, sum: crc32(rows) }, into, wanted);
    expect([isRead, into.equals(rows)]).toEqual([true, true]);
  });

  it('are not taken when they are others, too few or nowhere', async () => {
    const bytes = randomBytes(2000);
    const shared = { path: await share(bytes), start: 0, sum: crc32(bytes) };
    const into = (length: number): Buffer => Buffer.alloc(length);
    expect(await readShared(shared, into(2000), wanted)).toBe(true);
    expect(await readShared({ ...shared, sum: 1 }, into(2000), wanted)).toBe(false);
    expect(await readShared(shared, into(2001), wanted)).toBe(false);
    expect(await readShared({ ...shared, path: '/proc/0/fd/1' }, into(2000), wanted)).toBe(false);
  });

  it('are not read to their end when nobody wants them any more', async () => {
    const bytes = randomBytes(32 * 2 ** 20);
    const shared = { path: await share(bytes), start: 0, sum: crc32(bytes) };
    const into = Buffer.alloc(bytes.length);
    expect(await readShared(shared, into, () => true)).toBe(false);
    expect(into.subarray(-1000).equals(Buffer.alloc(1000))).toBe(true);
  });
});
