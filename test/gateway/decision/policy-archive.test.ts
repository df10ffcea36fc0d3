import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { PolicyArchive } from '../../../src/gateway/decision/policy-archive.ts';
import { PoliciesBefore } from '../../../src/gateway/replay/policy-before.ts';
import { policyDigest } from '../../../src/policy/policy-folder.ts';
import { shippedModel } from '../../policy/support.ts';
import { testFolders } from '../../support/folder.ts';
import { PATIENCE_MILLIS } from '../../support/eventually.ts';

const newFolder = testFolders();
const texts = {
  model: shippedModel,
  policy: 'p, user:ann, /a, read, allow\n',
  limits: 'limits: [{ name: one, rate: 1/s }]\n',
};
const digest = policyDigest(texts);

it('keeps every file that decides, so that the policy can be loaded again', async () => {
  const audit = await newFolder();
  const archive = new PolicyArchive(audit, () => undefined);
  await archive.keep(texts, digest);
  archive.close();
  expect(archive.fault()).toBeUndefined();
  expect((await readdir(join(audit, 'policies', digest))).sort()).toEqual([
    'limits.yaml',
    'model.conf',
    'policy.csv',
  ]);
  const before = new PoliciesBefore(audit);
  expect((await before.of(digest))?.snapshot.digest).toBe(digest);
  expect(await before.of('0'.repeat(64))).toBeUndefined();
  expect(await before.of('../../x')).toBeUndefined();
});

it('goes on while nothing can be written, says so, and tries again', async () => {
  const audit = join(await newFolder(), 'audit');
  await writeFile(audit, 'a file where the folder belongs');
  const failures: unknown[] = [];
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const archive = new PolicyArchive(audit, (error) => void failures.push(error));
  await archive.keep(texts, digest);
  await archive.keep(texts, digest);
  expect(archive.fault()).toBe(`the text of the policy ${digest} could not be archived`);
  expect(failures).toHaveLength(1);
  await rm(audit);
  vi.runAllTimers();
  vi.useRealTimers();
  await vi.waitFor(() => expect(archive.fault()).toBeUndefined(), { timeout: PATIENCE_MILLIS });
  expect(await readdir(join(audit, 'policies'))).toEqual([digest]);
  archive.close();
});
