import { mkdtemp, cp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AuditRecord, LoggedRecord } from '../../../src/audit/record/record.ts';
import { microsOf, timeOf } from '../../../src/audit/record/time.ts';
import type { RequestFilter } from '../../../src/audit/search/filter.ts';
import { newestRequests, type RequestPlace } from '../../../src/audit/search/newest.ts';
import { countTraffic } from '../../../src/audit/search/traffic.ts';
import { sealFinished } from '../../../src/audit/segments/sealing.ts';
import { writeSegment } from '../../../src/audit/segments/segment-file.ts';
import { readOrMakeSigningKey } from '../../../src/audit/signing/keys.ts';
import { openAuditLog } from '../../../src/audit/writer.ts';
import { randomOf } from '../../service/random.ts';
import { readAll, record } from '../records.ts';

/** What the console reads of a log, compared with all records of the same log; as lines and as segments. */

const START = BigInt(Date.now() - 6 * 3_600_000) * 1000n;
const REQUESTS = 600;
const STEP = 30_000_000n;

let root: string;
let folders: readonly string[];
let outcomes: readonly { readonly record: LoggedRecord; readonly began: bigint }[];

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'arrowgate-'));
  const [lines, sealed] = [join(root, 'lines'), join(root, 'sealed')];
  const random = randomOf(7);
  const log = await openAuditLog({ folder: lines, rotateBytes: 20_000 });
  for (let at = 0; at < REQUESTS; at++) {
    const attempt = attemptOf(`request-${at}`, START + BigInt(at) * STEP, random);
    await log.write(attempt, false);
    await log.write(outcomeOf(attempt, random), false);
  }
  await log.close();
  outcomes = (await readAll(lines))
    .filter(({ phase }) => phase === 'outcome')
    .map((each) => ({ record: each, began: microsOf(each.time) - each.duration_us! }));
  await cp(lines, sealed, { recursive: true });
  const key = await readOrMakeSigningKey(join(root, 'key.pem'));
  const options = { folder: sealed, own: '', key, staleMillis: 1e12, retainMillis: 1e15 };
  const { sealed: count } = await sealFinished({ ...options, write: writeSegment });
  expect(count).toBeGreaterThan(10);
  folders = [lines, sealed];
});

afterAll(() => rm(root, { recursive: true, force: true }));

function attemptOf(id: string, micros: bigint, random: (below: number) => number): AuditRecord {
  return record(id, {
    time: timeOf(micros),
    subject: `user:u${random(4)}`,
    operation: ['QueryTable', 'DropTable', 'InsertIntoTable'][random(3)]!,
    object: random(9) === 0 ? null : `/prod/t${random(5)}`,
    rule: random(5) === 0 ? null : `policy.csv:${random(3)}`,
  });
}

function outcomeOf(attempt: AuditRecord, random: (below: number) => number): AuditRecord {
  const duration = BigInt(random(5_000_000));
  return {
    ...attempt,
    phase: 'outcome',
    time: timeOf(microsOf(attempt.time) + duration),
    duration_us: duration,
    decision: random(3) === 0 ? 'deny' : 'allow',
    status: [200, 403, 500][random(3)]!,
    bytes_in: BigInt(random(100)),
    bytes_out: BigInt(random(100)),
  };
}

type Judge = (record: LoggedRecord) => boolean;

const filters: readonly (readonly [string, Omit<RequestFilter, 'since' | 'until'>, Judge])[] = [
  ['everything', {}, () => true],
  ['a subject', { subject: 'user:u1' }, ({ subject }) => subject === 'user:u1'],
  ['nobody', { subject: 'user:nobody' }, () => false],
  ['a decision', { decision: 'deny' }, ({ decision }) => decision === 'deny'],
  [
    'operations',
    { operations: new Set(['DropTable', 'QueryTable']) },
    ({ operation }) => operation !== 'InsertIntoTable',
  ],
  ['objects', { object: (path) => path === '/prod/t3' }, ({ object }) => object === '/prod/t3'],
  ['a status', { status: (status) => status >= 500 }, ({ status }) => status === 500],
];

it.each(filters)('pages through %s, newest first', async (_name, filter, judge) => {
  const expected = outcomes
    .filter((each) => judge(each.record))
    .toSorted((one, other) => (one.began < other.began ? 1 : -1))
    .map((each) => each.record.decision_id);
  for (const folder of folders) {
    const found: string[] = [];
    let after: RequestPlace | undefined;
    for (let more = true; more;) {
      const page = await newestRequests(folder, filter, { limit: 97, after });
      found.push(...page.requests.map(({ record: each }) => each.decision_id));
      const last = page.requests.at(-1);
      after = last && { began: microsOf(last.began), decisionId: last.record.decision_id };
      ({ more } = page);
    }
    expect(found).toEqual(expected);
  }
});

it('keeps to a window, and leaves one decision out', async () => {
  const window = { since: START + 100n * STEP, until: START + 110n * STEP };
  for (const folder of folders) {
    const { requests, more } = await newestRequests(folder, window, {
      limit: 50,
      except: 'request-105',
    });
    const ids = requests.map(({ record: each }) => each.decision_id);
    expect(ids).toEqual([109, 108, 107, 106, 104, 103, 102, 101, 100].map((at) => `request-${at}`));
    expect(more).toBe(false);
  }
});

it.each(filters)('counts %s', async (_name, filter, judge) => {
  const period = { since: START + 50n * STEP, until: START + 450n * STEP, steps: 40 };
  const meant = outcomes.filter(
    ({ record: each, began }) => judge(each) && began >= period.since && began < period.until,
  );
  const sum = (of: (each: LoggedRecord) => number): number =>
    meant.reduce((total, each) => total + of(each.record), 0);
  for (const folder of folders) {
    const { steps, total, values } = await countTraffic(folder, period, filter);
    expect(total).toMatchObject({
      requests: meant.length,
      denied: sum(({ decision }) => (decision === 'deny' ? 1 : 0)),
      failed: sum(({ status }) => (status === 500 ? 1 : 0)),
      bytesIn: sum(({ bytes_in }) => Number(bytes_in)),
      bytesOut: sum(({ bytes_out }) => Number(bytes_out)),
    });
    for (const [at, step] of steps.entries()) {
      const from = period.since + BigInt(at) * 10n * STEP;
      const within = meant.filter(({ began }) => began >= from && began < from + 10n * STEP);
      expect([at, step.requests]).toEqual([at, within.length]);
    }
    for (const key of ['operation', 'subject', 'object', 'rule', 'decision'] as const) {
      const counted = new Map(values[key].map(({ value, requests }) => [value, requests]));
      expect(values[key].reduce((all, { requests }) => all + requests, 0)).toBe(meant.length);
      for (const [value, requests] of counted) {
        expect(requests).toBe(meant.filter((each) => each.record[key] === value).length);
      }
    }
  }
});

it('tells durations to a fifth', async () => {
  const period = { since: START, until: START + BigInt(REQUESTS) * STEP, steps: 1 };
  const sorted = outcomes.map((each) => Number(each.record.duration_us)).sort((a, b) => a - b);
  const exact = [sorted[Math.ceil(0.5 * REQUESTS) - 1]!, sorted[Math.ceil(0.95 * REQUESTS) - 1]!];
  for (const folder of folders) {
    const { total } = await countTraffic(folder, period, {});
    for (const [at, value] of [total.median!, total.slow!].entries()) {
      expect(Math.abs(value / exact[at]! - 1)).toBeLessThan(0.2);
    }
  }
});
