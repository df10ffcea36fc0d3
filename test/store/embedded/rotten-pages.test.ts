import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openEmbeddedReading, openEmbeddedStore } from '../../../src/store/embedded/store.ts';
import { casesOf } from '../../support/cases.ts';
import { Child } from '../../support/child.ts';
import { testFolders } from '../../support/folder.ts';

const CHILD = new URL('rotten-child.ts', import.meta.url);
const newFolder = testFolders();

it('is refused, and does not end the process, if its first pages are damaged', async () => {
  const folder = join(await newFolder(), 'store');
  const store = await openEmbeddedStore(folder);
  await store.commit([], [{ key: 'N', value: Buffer.from('1') }]);
  await store.close();
  const path = join(folder, 'data.mdb');
  const bytes = await readFile(path);
  const [magic, format, pageBytes, lastPage] = [24, 28, 48, 148];
  for (const page of [0, bytes.readUInt32LE(pageBytes)]) {
    for (const field of [magic, format, pageBytes, lastPage]) {
      for (let bit = 0; bit < 32; bit++) {
        const flipped = Buffer.from(bytes);
        flipped[page + field + (bit >> 3)]! ^= 1 << (bit % 8);
        await writeFile(path, flipped);
        const opened = openEmbeddedStore(folder);
        await expect(opened, `bit ${bit} of ${page + field}`).rejects.toMatchObject({
          kind: 'damaged',
          message: `the first pages of ${path} are damaged: move ${folder} away, and run \`arrowgate catalog rebuild\``,
        });
        expect(() => openEmbeddedReading(folder)).toThrow('are damaged');
      }
    }
  }
  await writeFile(path, bytes.subarray(0, 100));
  await expect(openEmbeddedStore(folder)).rejects.toThrow('are damaged');
  await writeFile(path, bytes);
  const whole = await openEmbeddedStore(folder);
  expect(Buffer.from((await whole.get('N'))!).toString()).toBe('1');
  await whole.close();
});

it('answers nothing wrong from a file with a flipped bit', { timeout: 900_000 }, async () => {
  const folder = await newFolder();
  const store = await openEmbeddedStore(join(folder, 'whole'));
  for (let at = 0; at < 600; at += 20) {
    const keys = Array.from({ length: 20 }, (_, next) => `${at + next}`);
    const writes = keys.flatMap((key) => [`N${key}`, `T${key}`, `V${key}`]);
    await store.commit(
      [],
      writes.map((key) => ({ key, value: Buffer.from(`${key} `.repeat(20)) })),
    );
  }
  const changes = await store.changes(1000);
  await store.forget(changes.map(({ sequence }) => sequence));
  await store.close();
  const lines = await answersOf(folder, casesOf(60, 2000));
  expect(lines.filter((line) => line.includes('wrong'))).toEqual([]);
  const count = (word: string) => lines.filter((line) => line.endsWith(word)).length;
  expect(count('refused')).toBeGreaterThan(lines.length / 10);
  expect(count('right')).toBeGreaterThan(0);
});

/** What is answered after each flip. LMDB may end the process for a damaged page: that is no answer. */
async function answersOf(folder: string, count: number): Promise<readonly string[]> {
  const lines: string[] = [];
  for (let first = 1; first <= count;) {
    const child = new Child(CHILD, [folder, String(first), String(count)]);
    await child.end().catch(() => child.lines.push(`${first + child.lines.length} ended`));
    lines.push(...child.lines);
    first += child.lines.length;
  }
  return lines;
}
