import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sealFinished } from '../../../src/audit/segments/sealing.ts';
import { writeSegment } from '../../../src/audit/segments/segment-file.ts';
import { readOrMakeSigningKey } from '../../../src/audit/signing/keys.ts';
import { openAuditLog } from '../../../src/audit/writer.ts';
import { testFolders } from '../../support/folder.ts';
import { record } from '../records.ts';

const newFolder = testFolders();

it('files of a process that runs are left to it; each run knows how many files wait', async () => {
  const root = await newFolder();
  const folder = join(root, 'audit');
  const instances: string[] = [];
  for (const _ of ['own', 'other']) {
    const log = await openAuditLog({ folder, rotateBytes: 2000 });
    for (let at = 0; at < 20; at++) await log.write(record(`r${at}`), true);
    await log.close();
    instances.push(log.instance);
  }
  const [own = '', other = ''] = instances;
  const files = (await readdir(join(folder, own))).length;
  const waits: number[] = [];
  const options = {
    folder,
    own,
    key: await readOrMakeSigningKey(join(root, 'key.pem')),
    staleMillis: -1,
    retainMillis: 1e15,
    isOthers: async (instance: string) => instance === other,
    write: async (
      ...[lines, path, head, waiting]: [...Parameters<typeof writeSegment>, number]
    ) => {
      waits.push(waiting);
      return writeSegment(lines, path, head);
    },
  };
  expect((await sealFinished(options)).sealed).toBe(files - 1);
  expect(waits).toEqual(Array.from({ length: files - 1 }, (_, at) => files - 2 - at));
  const left = (name: string) =>
    readdir(join(folder, name)).then((all) => all.filter((each) => each.endsWith('.jsonl')).length);
  expect([await left(own), await left(other)]).toEqual([1, files]);
  expect((await sealFinished({ ...options, isOthers: async () => false })).sealed).toBe(files);
});
