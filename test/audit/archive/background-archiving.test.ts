import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  BackgroundArchiving,
  LAST_ARCHIVE_MILLIS,
} from '../../../src/audit/archive/background-archiving.ts';
import { archivedLines } from './archived-lines.ts';
import { openAuditLog } from '../../../src/audit/writer.ts';
import { readOrMakeSigningKey } from '../../../src/audit/signing/keys.ts';
import { MemoryStorage } from '../../../src/storage/memory-storage.ts';
import { eventually } from '../../support/eventually.ts';
import { testFolders } from '../../support/folder.ts';
import { record } from '../records.ts';
import { ROOT } from './archived-log.ts';

const newFolder = testFolders();

async function archiving(storage: MemoryStorage) {
  const root = await newFolder();
  const folder = join(root, 'audit');
  const key = await readOrMakeSigningKey(join(root, 'key.pem'));
  const said: unknown[] = [];
  const background = new BackgroundArchiving({
    storage,
    root: ROOT,
    folder,
    starts: join(root, 'audit-starts'),
    key,
    keys: [key.public],
    isOver: async () => false,
    checkpoints: async () => [],
    name: 'lake:/audit',
    retainMillis: 1e12,
    pauseMillis: 10,
    lateMillis: 0,
    failed: (error) => said.push(error),
    done: () => undefined,
  });
  const log = await openAuditLog({ folder, rotateBytes: 1e6 });
  return { background, log, said };
}

it('uploads records soon, says what is missing while the store is away, and catches up', async () => {
  const storage = new MemoryStorage();
  const { background, log, said } = await archiving(storage);
  const put = storage.putIfAbsent.bind(storage);
  storage.putIfAbsent = () => Promise.reject(new Error('the store is away'));
  background.start(log.instance);
  await log.write(record('one'), true);
  await eventually(() => {
    expect(background.fault()).toMatch(
      /^the audit records of the last \d+ s are not in the archive lake:\/audit: the store is away$/,
    );
  });
  expect(background.ageSeconds()).toBeGreaterThan(0);
  expect(said).toEqual([new Error('the store is away')]);
  storage.putIfAbsent = put;
  await eventually(async () =>
    expect(await archivedLines(storage)).toContain('"request_id":"one"'),
  );
  await log.write(record('two'), true);
  await log.close();
  const timers = (): number =>
    process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  await background.stop();
  // A timer that is left keeps the process from ending.
  expect(timers()).toBeLessThanOrEqual(before);
  expect(await archivedLines(storage)).toContain('"request_id":"two"');
  expect([background.fault(), background.ageSeconds()]).toEqual([undefined, 0]);
});

it('a stop does not wait for a store that does not answer', async () => {
  const storage = new MemoryStorage();
  const { background, log } = await archiving(storage);
  background.start(log.instance);
  await eventually(async () => expect(await archivedLines(storage)).toBe(''));
  await log.write(record('one'), true);
  await eventually(async () => expect(await archivedLines(storage)).toContain('"one"'));
  await log.write(record('late'), true);
  await log.close();
  let asked = 0;
  storage.putIfAbsent = () => {
    asked += 1;
    return new Promise(() => undefined);
  };
  const rounds = background.stop();
  expect(LAST_ARCHIVE_MILLIS).toBeLessThanOrEqual(5_000);
  await rounds;
  expect(asked).toBeLessThan(3);
});
