import { expect, it } from 'vitest';
import { ActRecords } from '../../../src/audit/record/administrative.ts';
import type { AuditRecord } from '../../../src/audit/record/record.ts';
import { recordedIn } from '../../../src/cli/service/recorded-command.ts';

const records = () => new ActRecords({ operation: 'KeysRevoke', subject: 'user:a', details: {} });

/** A log whose disk takes no record of some of the writes, the first of which is 0. */
function logThatFails(...failing: readonly number[]) {
  const written: string[] = [];
  let writes = 0;
  const write = async ({ phase, decision }: AuditRecord): Promise<void> => {
    if (failing.includes(writes++)) throw new Error('the disk is full');
    written.push(`${phase} ${decision}`);
  };
  return { written, write };
}

/** What came of work that is recorded in a log, and what the log says of it. */
async function cameOf(log: ReturnType<typeof logThatFails>, work: () => Promise<string>) {
  const done = async () => ({ result: await work() });
  const said = await recordedIn(log, records(), done).catch((error: Error) => error.message);
  return [said, ...log.written];
}

it('records an attempt before the work and its outcome behind it', async () => {
  const log = logThatFails();
  const work = async () => [...log.written].join();
  expect(await cameOf(log, work)).toEqual(['attempt allow', 'attempt allow', 'outcome allow']);
  const failing = () => Promise.reject(new Error('no such key'));
  expect(await cameOf(logThatFails(), failing)).toEqual([
    'no such key',
    'attempt allow',
    'outcome invalid',
  ]);
});

it('does nothing when the attempt cannot be written', async () => {
  let isDone = false;
  const work = async () => {
    isDone = true;
    return 'done';
  };
  expect(await cameOf(logThatFails(0), work)).toEqual([
    'the audit log cannot be written, so nothing is changed: the disk is full',
  ]);
  expect(isDone).toBe(false);
});

it('never says of what was done that it failed', async () => {
  expect(await cameOf(logThatFails(1), async () => 'done')).toEqual([
    'it was done, but the audit log could not be written to say so: the disk is full',
    'attempt allow',
  ]);
});
