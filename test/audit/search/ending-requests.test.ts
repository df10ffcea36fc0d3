import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AuditRecord } from '../../../src/audit/record/record.ts';
import { microsOf, timeOf } from '../../../src/audit/record/time.ts';
import type { RequestFilter } from '../../../src/audit/search/filter.ts';
import { searchRequests } from '../../../src/audit/search/search.ts';
import { openAuditLog, type AuditLog } from '../../../src/audit/writer.ts';
import { record } from '../records.ts';

/** Requests that end while a search runs, which has read their attempts. */

const NAMES = ['first', 'second', 'third', 'fourth'];

const ROTATE_BYTES = 20_000;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-'));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Writes open attempts, the first in a file of its own, behind a request that has ended. */
async function openRequests(name: string): Promise<{
  readonly log: AuditLog;
  readonly folder: string;
  readonly end: (name: string) => Promise<void>;
}> {
  const own = join(folder, name);
  const log = await openAuditLog({ folder: own, rotateBytes: ROTATE_BYTES });
  const large = { user_agent: 'x'.repeat(ROTATE_BYTES) };
  const attempts = new Map(
    NAMES.map((each) => [each, record(each, each === 'first' ? large : {})]),
  );
  const ended = record('ended');
  for (const each of [ended, outcomeOf(ended), ...attempts.values()]) await log.write(each, true);
  const end = async (each: string): Promise<void> => {
    await log.write(outcomeOf(attempts.get(each)!), true);
  };
  return { log, folder: own, end };
}

function outcomeOf(attempt: AuditRecord): AuditRecord {
  const duration = 1000n;
  const time = timeOf(microsOf(attempt.time) + duration);
  return { ...attempt, phase: 'outcome', time, duration_us: duration, status: 200 };
}

/** What a search finds, each with its phase, when a request ends at some of its steps. */
async function searched(
  name: string,
  filter: RequestFilter,
  ending: readonly (string | undefined)[],
): Promise<readonly string[]> {
  const { log, folder: own, end } = await openRequests(name);
  const found: string[] = [];
  let step = 0;
  for await (const requests of searchRequests(own, filter)) {
    found.push(...requests.map(({ record: each }) => `${each.decision_id} ${each.phase}`));
    const next = ending[step++];
    if (next !== undefined) await end(next);
  }
  await log.close();
  return found;
}

it('finds the outcome of a request that ended since its attempt was read', async () => {
  expect(await searched('ended', {}, ['fourth', 'first'])).toEqual([
    'ended outcome',
    'fourth outcome',
    'first outcome',
    'second attempt',
    'third attempt',
  ]);
});

it('does not find an attempt and its outcome', async () => {
  expect(await searched('once', {}, [undefined, 'third'])).toEqual([
    'ended outcome',
    'first attempt',
    'second attempt',
    'third attempt',
    'fourth attempt',
  ]);
});

it('judges an outcome that came meanwhile like any other', async () => {
  const isMissing = (status: number): boolean => status === 404;
  expect(await searched('status', { status: isMissing }, ['fourth'])).toEqual([]);
  expect(await searched('allowed', { decision: 'allow', text: 'second' }, ['first'])).toEqual([
    'second attempt',
  ]);
});
