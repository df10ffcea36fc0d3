import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openEmbeddedStore } from '../../../src/store/embedded/store.ts';
import { casesOf } from '../../support/cases.ts';
import { Child } from '../../support/child.ts';
import { testFolders } from '../../support/folder.ts';

const CHILD = new URL('rotten-child.ts', import.meta.url);
const newFolder = testFolders();

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
