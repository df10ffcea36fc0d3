import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';

/** Gives a function that makes empty folders; each is removed after the test that asked for it. */
export function testFolders(): () => Promise<string> {
  const made: string[] = [];
  afterEach(async () => {
    const folders = made.splice(0);
    await Promise.all(folders.map((path) => rm(path, { recursive: true, force: true })));
  });
  return async () => {
    const path = await mkdtemp(join(tmpdir(), 'arrowgate-'));
    made.push(path);
    return path;
  };
}
