import { expect, it } from 'vitest';
import { Field, Schema, Uint32 } from 'apache-arrow';
import { DamagedFile, SEALED_PORTION } from '../../../../src/arrow/sealed/file-seal.ts';
import { SealingWriter } from '../../../../src/arrow/sealed/sealing-writer.ts';
import { batchOf } from '../../../../src/arrow/select.ts';
import {
  ReadingRate,
  verifyFile,
} from '../../../../src/engine/upkeep/verification/portion-reading.ts';
import { LocalStorage } from '../../../../src/storage/local-storage.ts';
import { MemoryStorage } from '../../../../src/storage/memory-storage.ts';
import { makeData, makeVector } from 'apache-arrow';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const schema = new Schema([new Field('row', new Uint32(), false)]);

/** A file with rows of four bytes. */
function sealed(rows: number) {
  const column = makeVector(
    makeData({ type: new Uint32(), data: Uint32Array.from({ length: rows }, (_, at) => at) }),
  );
  const writer = new SealingWriter(schema);
  const pieces = [writer.begin(), ...writer.batch(batchOf(schema, [column], rows))];
  const { bytes, seal } = writer.end();
  return { bytes: Buffer.concat([...pieces, bytes]), seal };
}

it.each([
  ['on a disk', () => new LocalStorage()],
  ['in memory', () => new MemoryStorage()],
])('compares every portion of a file %s', async (_, open) => {
  const storage = open();
  const folder = await mkdtemp(join(tmpdir(), 'portions-'));
  await storage.folders?.make(folder);
  const { bytes, seal } = sealed(600_000);
  const path = join(folder, 'f.arrow');
  await storage.write(path, bytes);
  expect(await verifyFile(storage, { path, seal })).toBe(bytes.length);
  expect(await verifyFile(storage, { path, seal }, { rate: new ReadingRate(2 ** 30) })).toBe(
    bytes.length,
  );
  await expect(verifyFile(storage, { path, seal: undefined })).rejects.toThrow('is missing');
  const signal = AbortSignal.abort(new Error('enough'));
  await expect(verifyFile(storage, { path, seal }, { signal })).rejects.toThrow('enough');
  for (let at = 7; at < bytes.length; at += SEALED_PORTION) {
    const other = Buffer.from(bytes);
    other[at]! ^= 4;
    await storage.replace(path, other);
    await expect(verifyFile(storage, { path, seal })).rejects.toThrow(DamagedFile);
  }
  await storage.remove(path);
  await expect(verifyFile(storage, { path, seal })).rejects.toThrow('ENOENT');
  await rm(folder, { recursive: true, force: true });
});
