import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FileDescriptor } from '../../src/storage/file-descriptor.ts';
import { StreamedFile } from '../../src/storage/streamed-file.ts';

const MIB = 2 ** 20;

let folder = '';
let path = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'streamed-file-'));
  path = join(folder, 'file');
});

afterEach(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true });
});

describe('a streamed file', () => {
  it('has all bytes in their order, of writes of every size', async () => {
    const file = StreamedFile.create(path);
    const parts = [1, 3 * MIB, 10, 40 * MIB, 2, 35 * MIB, 7].map((bytes, at) =>
      Buffer.alloc(bytes, at + 1),
    );
    for (const part of parts) await file.write([part]);
    await file.end();
    await file.sync();
    expect((await readFile(path)).equals(Buffer.concat(parts))).toBe(true);
  });

  it('is flushed while bytes still come, a few of them not', async () => {
    const flush = vi.spyOn(FileDescriptor.prototype, 'datasync');
    const file = StreamedFile.create(path);
    const part = Buffer.alloc(8 * MIB);
    for (let count = 0; count < 4; count++) await file.write([part]);
    expect(flush).not.toHaveBeenCalled();
    await file.write([part]);
    expect(flush).toHaveBeenCalledTimes(1);
    await file.end();
    await file.sync();
  });

  it('tells of a write that failed with the next one, and at the end', async () => {
    const file = StreamedFile.create(path);
    vi.spyOn(FileDescriptor.prototype, 'write').mockRejectedValueOnce(new Error('no space'));
    await file.write([Buffer.from('lost')]);
    await expect(file.write([Buffer.from('more')])).rejects.toThrow('no space');
    await expect(file.end()).rejects.toThrow('no space');
    await file.abandon();
  });

  it('tells of an early flush that failed when it is synced', async () => {
    const file = StreamedFile.create(path);
    vi.spyOn(FileDescriptor.prototype, 'datasync').mockRejectedValueOnce(new Error('a bad block'));
    for (let count = 0; count < 6; count++) await file.write([Buffer.alloc(8 * MIB)]);
    await file.end();
    await expect(file.sync()).rejects.toThrow('a bad block');
    // Closed before: the number may be another file's by now.
    await file.abandon();
  });

  it('is not made where there is one', async () => {
    const file = StreamedFile.create(path);
    await file.abandon();
    expect(() => StreamedFile.create(path)).toThrow('EEXIST');
    expect(await readdir(folder)).toEqual(['file']);
  });
});
