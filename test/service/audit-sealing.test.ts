import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SealingThread } from '../../src/audit/segments/background-sealing.ts';
import { sealFinished } from '../../src/audit/segments/sealing.ts';
import { readOrMakeSigningKey } from '../../src/audit/signing/keys.ts';
import { openAuditLog } from '../../src/audit/writer.ts';
import { readAll, record } from '../audit/records.ts';

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'arrowgate-'));
});

afterEach(() => rm(root, { recursive: true, force: true }));

describe('the thread of the built program', () => {
  it('seals finished files, and refuses one whose chain does not hold', async () => {
    const folder = join(root, 'audit');
    const log = await openAuditLog({ folder, rotateBytes: 2000 });
    for (let index = 0; index < 20; index++) await log.write(record(`r${index}`), true);
    const before = await readAll(folder);
    const thread = new SealingThread();
    const options = {
      folder,
      own: log.instance,
      key: await readOrMakeSigningKey(join(root, 'key.pem')),
      staleMillis: 1e12,
      retainMillis: 1e12,
      write: thread.write,
    };
    const { sealed, unfit } = await sealFinished(options);
    expect([sealed > 3, unfit]).toEqual([true, []]);
    expect(await readAll(folder)).toEqual(before);
    const names = await readdir(join(folder, log.instance));
    expect(names.filter((name) => name.endsWith('.jsonl'))).toHaveLength(1);
    const [open] = names.filter((name) => name.endsWith('.jsonl'));
    const lines = join(folder, log.instance, open!);
    const head = { count: 0n, hash: 'another' };
    await expect(thread.write(lines, join(root, 'x.arrow'), head)).rejects.toThrow(
      'record 1 does not follow from the one before',
    );
    // After a failure it begins again.
    const none = join(root, 'none.jsonl');
    await expect(thread.write(none, join(root, 'x.arrow'), head)).rejects.toThrow('ENOENT');
    await expect(thread.write(lines, join(root, 'x.arrow'), head)).rejects.toThrow('record 1');
    await thread.end();
    expect((await readdir(root)).sort()).toEqual(['audit', 'key.pem']);
    await log.close();
  });
});
