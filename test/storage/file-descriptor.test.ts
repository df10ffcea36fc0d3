import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FileDescriptor } from '../../src/storage/file-descriptor.ts';

let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'open-file-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

describe('a file descriptor', () => {
  it('takes few bytes, many bytes and many pieces, in order', async () => {
    const path = join(folder, 'file');
    const file = FileDescriptor.open(path, 'wx');
    const pieces = Array.from({ length: 3000 }, (_, at) => Buffer.from(`${at},`));
    const large = Buffer.alloc(200_000, 'large');
    await file.write([Buffer.from('first')]);
    await file.write([]);
    await file.write([large, Buffer.alloc(0), Buffer.from('next')]);
    await file.write(pieces);
    await file.sync();
    file.close();
    const expected = Buffer.concat([Buffer.from('first'), large, Buffer.from('next'), ...pieces]);
    expect((await readFile(path)).equals(expected)).toBe(true);
  });

  it('grows at its end, and can be cut', async () => {
    const path = join(folder, 'file');
    const file = FileDescriptor.open(path, 'ax');
    await file.write([Buffer.from('one two')]);
    await file.truncate(3);
    await file.write([Buffer.from('!')]);
    await file.datasync();
    file.close();
    expect(await readFile(path, 'utf8')).toBe('one!');
  });

  it('is not made where there is one', () => {
    FileDescriptor.open(join(folder, 'file'), 'wx').close();
    expect(() => FileDescriptor.open(join(folder, 'file'), 'wx')).toThrow('EEXIST');
  });
});
