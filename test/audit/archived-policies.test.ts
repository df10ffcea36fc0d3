import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  archivePolicy,
  archivedPolicy,
  sweepIncomplete,
} from '../../src/audit/archived-policies.ts';
import { openAuditLog } from '../../src/audit/writer.ts';
import { testFolders } from '../support/folder.ts';
import { readAll, record } from './records.ts';

const newFolder = testFolders();
const CHILD = new URL('./keep-child.ts', import.meta.url).pathname;

const files = [
  { name: 'model.conf', text: '[matchers]\n' },
  { name: 'policy.csv', text: 'p, user:änn, /a, read, allow\n' },
];

async function textsIn(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return Object.fromEntries(names.map((name, index) => [name, texts[index]!]));
}

describe('the texts of policies beside the audit log', () => {
  it('stand under their digest, for this user alone', async () => {
    const audit = join(await newFolder(), 'audit');
    await archivePolicy(audit, 'abc', files);
    expect(await textsIn(archivedPolicy(audit, 'abc'))).toEqual({
      'model.conf': '[matchers]\n',
      'policy.csv': 'p, user:änn, /a, read, allow\n',
    });
    const modeOf = async (path: string) => (await stat(path)).mode & 0o777;
    expect(await modeOf(join(audit, 'policies'))).toBe(0o700);
    expect(await modeOf(archivedPolicy(audit, 'abc'))).toBe(0o700);
    expect(await modeOf(join(archivedPolicy(audit, 'abc'), 'policy.csv'))).toBe(0o600);
  });

  it('are written once, also by many at the same time', async () => {
    const audit = await newFolder();
    await Promise.all(Array.from({ length: 8 }, () => archivePolicy(audit, 'abc', files)));
    const { ino } = await stat(join(archivedPolicy(audit, 'abc'), 'policy.csv'));
    await archivePolicy(audit, 'abc', files);
    expect((await stat(join(archivedPolicy(audit, 'abc'), 'policy.csv'))).ino).toBe(ino);
    expect(await readdir(join(audit, 'policies'))).toEqual(['abc']);
  });

  it('are no instance of the log', async () => {
    const folder = await newFolder();
    await archivePolicy(folder, 'abc', files);
    const log = await openAuditLog({ folder, rotateBytes: 1000 });
    await log.write(record('r1'), true);
    await log.close();
    expect((await readAll(folder)).map((each) => each.request_id)).toEqual(['r1']);
  });

  it('leave nothing under the digest when they cannot be written', async () => {
    const audit = await newFolder();
    const tooLong = [...files, { name: 'x'.repeat(300), text: '' }];
    await expect(archivePolicy(audit, 'abc', tooLong)).rejects.toThrow('ENAMETOOLONG');
    expect(await readdir(join(audit, 'policies'))).toEqual([]);
    await archivePolicy(audit, 'abc', files);
    expect(await readdir(join(audit, 'policies'))).toEqual(['abc']);
  });

  it('are rid of what a crash left, once nobody writes at it any more', async () => {
    const audit = await newFolder();
    await archivePolicy(audit, 'abc', files);
    for (const name of ['.old.tmp', '.new.tmp']) {
      await mkdir(join(audit, 'policies', name));
      await writeFile(join(audit, 'policies', name, 'model.conf'), '');
    }
    await utimes(join(audit, 'policies', '.old.tmp'), 1, 1);
    await utimes(join(audit, 'policies', 'abc'), 1, 1);
    await sweepIncomplete(audit);
    expect((await readdir(join(audit, 'policies'))).sort()).toEqual(['.new.tmp', 'abc']);
    await sweepIncomplete(join(audit, 'is not there'));
    await chmod(join(audit, 'policies'), 0o700);
  });

  it('are whole under their digest whenever their writer is killed', async () => {
    const audit = await newFolder();
    for (let round = 0; round < 3; round++) {
      const child = fork(CHILD, [audit, String(round)], { execArgv: ['--import', 'tsx'] });
      const kept: string[] = [];
      child.on('message', (digest: string) => void kept.push(digest));
      await once(child, 'message');
      await wait(40 * round);
      child.kill('SIGKILL');
      await once(child, 'exit');
      const present = (await readdir(join(audit, 'policies'))).filter(
        (name) => !name.startsWith('.'),
      );
      expect(present).toEqual(expect.arrayContaining(kept));
      for (const digest of present) {
        const text = `${digest}\n`.repeat(2000);
        expect(await textsIn(archivedPolicy(audit, digest))).toEqual({
          'a.csv': text,
          'b.csv': text,
        });
      }
    }
  });
});
