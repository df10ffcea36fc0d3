import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ProcessScratch } from '../../src/store/process-scratch.ts';

/** No process has this id. */
const GONE = 2 ** 30;

let temporary: string;

beforeEach(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'arrowgate-scratch-'));
  vi.stubEnv('TMPDIR', temporary);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(temporary, { recursive: true, force: true });
});

test('removes the folders of processes that are gone, of its kind, and no link that has such a name', async () => {
  const own = new ProcessScratch('work');
  await own.opened();
  const kept = basename(own.make());
  const gone = kept.replace(`-${process.pid}-`, `-${GONE}-`);
  expect(gone).not.toBe(kept);
  const other = gone.replace('work-', 'other-');
  const link = `${gone}-link`;
  for (const name of [gone, other]) await mkdir(join(temporary, name));
  await symlink(join(temporary, other), join(temporary, link));
  await new ProcessScratch('work').opened();
  await vi.waitFor(async () => expect(await readdir(temporary)).not.toContain(gone));
  expect((await readdir(temporary)).toSorted()).toEqual([kept, link, other].toSorted());
});
