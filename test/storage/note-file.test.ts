import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NoteFile, noteIn } from '../../src/storage/note-file.ts';
import { testFolders } from '../support/folder.ts';

const newFolder = testFolders();

const written = async (...texts: readonly string[]): Promise<Buffer> => {
  const path = join(await newFolder(), 'a.note');
  const file = new NoteFile(path);
  for (const text of texts) file.write(text);
  file.close();
  return readFile(path);
};

describe('the file of a note', () => {
  it('has the text before when a write was cut off anywhere, also the first', async () => {
    for (const texts of [['one', 'two'], ['one', 'two', 'three'], ['one']]) {
      const whole = await written(...texts);
      const before = await written(...texts.slice(0, -1), ...(texts.length > 1 ? [] : ['x']));
      const old = texts.length > 1 ? before : Buffer.alloc(0);
      const place = (texts.length % 2) * 4096;
      const length = 28 + texts.at(-1)!.length;
      for (let kept = 0; kept < length; kept += 1) {
        const torn = Buffer.alloc(Math.max(old.length, place + kept));
        old.copy(torn);
        whole.copy(torn, place, place, place + kept);
        // The last digits of a number may be those that were there.
        expect([texts.at(-2), texts.at(-1)]).toContain(noteIn(torn));
      }
      expect(noteIn(whole)).toBe(texts.at(-1));
    }
  });

  it('has no text where every byte of one is another', async () => {
    const bytes = await written('one', 'two');
    for (let at = 0; at < bytes.length; at += 1) bytes[at]! ^= 0x55;
    expect(noteIn(bytes)).toBeUndefined();
  });

  it('is made again where it was taken away, and goes on where one was put', async () => {
    const path = join(await newFolder(), 'b', 'a.note');
    await mkdir(dirname(path));
    const file = new NoteFile(path);
    for (const text of ['one', 'two', 'three']) file.write(text);
    await rename(path, `${path}.kept`);
    file.write('four');
    expect(noteIn(await readFile(path))).toBe('four');
    await rename(`${path}.kept`, path);
    file.write('five');
    expect(noteIn(await readFile(path))).toBe('five');
    await rm(dirname(path), { recursive: true });
    expect(() => file.write('six')).toThrow('ENOENT');
    await mkdir(dirname(path));
    await writeFile(path, 'nothing that it wrote');
    file.write('seven');
    expect(noteIn(await readFile(path))).toBe('seven');
    file.close();
  });

  it('takes no text that does not fit', async () => {
    const path = join(await newFolder(), 'a.note');
    const file = new NoteFile(path);
    file.write('x'.repeat(4068));
    expect(() => file.write('x'.repeat(4069))).toThrow('a note has at most 4068 bytes');
    expect(noteIn(await readFile(path))).toBe('x'.repeat(4068));
    file.close();
  });
});
