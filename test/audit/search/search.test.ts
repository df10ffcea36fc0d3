import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { logTable } from '../../../src/audit/search/log-table.ts';
import { RecordFault } from '../../../src/audit/record/decoding.ts';
import { recordAt } from '../../../src/audit/record/columns.ts';
import type { ReadSummary } from '../../../src/protocol/read-summary.ts';
import type { AuditRecord, Decision, LoggedRecord } from '../../../src/audit/record/record.ts';
import type { RequestFilter } from '../../../src/audit/search/filter.ts';
import { reportRequests } from '../../../src/audit/search/report.ts';
import { searchRequests, type FoundRequest } from '../../../src/audit/search/search.ts';
import { sealFinished } from '../../../src/audit/segments/sealing.ts';
import { writeSegment } from '../../../src/audit/segments/segment-file.ts';
import { readOrMakeSigningKey } from '../../../src/audit/signing/keys.ts';
import { microsOf, timeOf } from '../../../src/audit/record/time.ts';
import { countUnanswered } from '../../../src/cli/audit/audit-verify.ts';
import { openAuditLog } from '../../../src/audit/writer.ts';
import { randomOf } from '../../service/random.ts';
import { readAll, record } from '../records.ts';

const START = microsOf('2026-02-01T00:00:00.000000Z');
const MINUTE = 60_000_000n;
const REQUESTS = 400;
const DECISIONS: readonly Decision[] = ['allow', 'allow', 'deny'];

let root: string;
let folder: string;
/** The same log before it was sealed. */
let lines: string;
let all: readonly LoggedRecord[];

/** Requests whose outcomes come late, early, in another order, or never; in files that are sealed or not. */
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'arrowgate-'));
  folder = join(root, 'audit');
  for (let instance = 0; instance < 3; instance++) await writeInstance(randomOf(instance));
  lines = join(root, 'lines');
  await cp(folder, lines, { recursive: true });
  const key = await readOrMakeSigningKey(join(root, 'key.pem'));
  const options = { folder, own: '', key, staleMillis: 1e12, retainMillis: 1e15 };
  const { sealed, unfit } = await sealFinished({ ...options, write: writeSegment });
  expect([sealed > 10, unfit]).toEqual([true, []]);
  all = await readAll(folder);
});

afterAll(() => rm(root, { recursive: true, force: true }));

async function writeInstance(random: (below: number) => number): Promise<void> {
  const log = await openAuditLog({ folder, rotateBytes: 20_000 });
  const open: AuditRecord[] = [];
  for (let at = 0; at < REQUESTS; at++) {
    const attempt = attemptOf(`${log.instance}-${at}`, START + BigInt(at) * MINUTE, random);
    await log.write(attempt, false);
    if (random(20) > 0) open.push(outcomeOf(attempt, random));
    while (open.length > 0 && random(3) > 0) {
      await log.write(open.splice(random(open.length), 1)[0]!, false);
    }
  }
  for (const outcome of open) await log.write(outcome, false);
  await log.close();
}

function attemptOf(id: string, micros: bigint, random: (below: number) => number): AuditRecord {
  const subject = ['user:u0', 'user:u1', 'user:u2', 'user:ü "3"\\', 'user:"subject":'][random(5)]!;
  return record(id, {
    time: timeOf(micros),
    subject,
    principal: { subject, groups: [], roles: random(2) === 0 ? [] : ['role:reader'] },
    operation: ['QueryTable', 'DropTable', 'InsertIntoTable'][random(3)]!,
    object: `/prod/t${random(7)}`,
    backend: ['west', 'east', null][random(3)]!,
    user_agent: random(4) === 0 ? 'curl/8' : null,
    rule: `policy.csv:${random(3)}`,
  });
}

function outcomeOf(attempt: AuditRecord, random: (below: number) => number): AuditRecord {
  const duration = BigInt(random(2) === 0 ? random(1000) : random(40) * 60_000_000);
  return {
    ...attempt,
    phase: 'outcome',
    time: timeOf(microsOf(attempt.time) + duration),
    duration_us: duration,
    decision: DECISIONS[random(3)]!,
    status: [200, 404, 500][random(3)]!,
    objects: random(5) === 0 ? ['/other/x'] : [],
    bytes_in: BigInt(random(100)),
    bytes_out: BigInt(random(100)),
    restrictions: random(3) === 0 ? ['own'] : [],
    read: readOf(random),
    canary: [null, null, 'trap', 'trap bait'][random(4)]!,
  };
}

const COLUMNS = ['id', 'name', 'ß "4"\\'];

function readOf(random: (below: number) => number): ReadSummary | null {
  if (random(2) === 0) return null;
  const columns = COLUMNS.filter(() => random(2) === 0);
  const filter = random(2) === 0 ? null : 'f'.repeat(64);
  return { columns, rows: BigInt(random(9)), version: BigInt(random(9)), filter };
}

/** The requests one by one, as they were written. */
function requests(): readonly { attempt: LoggedRecord; record: LoggedRecord }[] {
  const outcomes = new Map(
    all.filter(({ phase }) => phase === 'outcome').map((each) => [each.decision_id, each]),
  );
  return all
    .filter(({ phase }) => phase === 'attempt')
    .map((attempt) => ({ attempt, record: outcomes.get(attempt.decision_id) ?? attempt }));
}

async function found(
  filter: RequestFilter,
  log: string = folder,
): Promise<readonly FoundRequest[]> {
  const each: FoundRequest[] = [];
  for await (const some of searchRequests(log, filter)) each.push(...some);
  return each;
}

type Judge = (record: LoggedRecord, began: bigint) => boolean;

const at = (minutes: number): bigint => START + BigInt(minutes) * MINUTE;
const cases: readonly (readonly [string, RequestFilter, Judge])[] = [
  ['everything', {}, () => true],
  ['a subject', { subject: 'user:u2' }, ({ subject }) => subject === 'user:u2'],
  ['nobody', { subject: 'user:u' }, () => false],
  [
    'a window',
    { since: at(100), until: at(130) },
    (_, began) => began >= at(100) && began < at(130),
  ],
  [
    'a subject in a window',
    { subject: 'user:u1', since: at(7), until: at(300) },
    ({ subject }, began) => subject === 'user:u1' && began >= at(7) && began < at(300),
  ],
  [
    'operations',
    { operations: new Set(['DropTable', 'QueryTable']) },
    ({ operation }) => operation !== 'InsertIntoTable',
  ],
  [
    'an operation since',
    { operations: new Set(['DropTable']), since: at(390) },
    ({ operation }, began) => operation === 'DropTable' && began >= at(390),
  ],
  ['an object', { object: (path) => path === '/prod/t3' }, ({ object }) => object === '/prod/t3'],
  [
    'an object of a body',
    { object: (path) => path === '/other/x' },
    ({ objects }) => objects.includes('/other/x'),
  ],
  ['a backend', { backend: 'west' }, ({ backend }) => backend === 'west'],
  [
    'a backend and a subject',
    { backend: 'east', subject: 'user:u1' },
    ({ backend, subject }) => backend === 'east' && subject === 'user:u1',
  ],
  ['a backend of no request', { backend: 'wes' }, () => false],
  ['a decision', { decision: 'deny' }, ({ decision }) => decision === 'deny'],
  ['an allowed one', { decision: 'allow' }, ({ decision }) => decision === 'allow'],
  [
    'the few allowed ones of a window, whose attempts were allowed alike',
    { decision: 'allow', since: at(395) },
    ({ decision }, began) => decision === 'allow' && began >= at(395),
  ],
  [
    'a class of status',
    { status: (status) => status >= 400 && status < 500 },
    ({ status }) => status === 404,
  ],
  ['a text with escapes', { text: 'ü "3"\\' }, ({ subject }) => subject === 'user:ü "3"\\'],
  [
    'a subject with escapes and a decision',
    { subject: 'user:ü "3"\\', decision: 'deny' },
    ({ subject, decision }) => subject === 'user:ü "3"\\' && decision === 'deny',
  ],
  ['a status', { status: (status) => status === 404 }, ({ status }) => status === 404],
  ['a column', { column: 'id' }, ({ read }) => read?.columns.includes('id') === true],
  [
    'a column with escapes that a subject read',
    { column: COLUMNS[2]!, subject: 'user:u1' },
    ({ read, subject }) => subject === 'user:u1' && read?.columns.includes(COLUMNS[2]!) === true,
  ],
  [
    'any canary',
    { canary: () => true },
    ({ canary, phase }) => canary !== null && phase === 'outcome',
  ],
  [
    'the canary of a restriction',
    { canary: (names) => names.includes('bait') },
    ({ canary, phase }) => canary === 'trap bait' && phase === 'outcome',
  ],
  ['a column that nobody read', { column: 'i' }, () => false],
  ['a text', { text: 'curl' }, ({ user_agent: agent }) => agent === 'curl/8'],
  [
    'a text in a part',
    { text: 'role:read', subject: 'user:u0' },
    ({ principal, subject }) => subject === 'user:u0' && principal!.roles.length > 0,
  ],
];

describe('a search', () => {
  it.each(cases)('finds %s', async (_, filter, judge) => {
    const expected = requests().filter(({ attempt, record: each }) =>
      judge(each, microsOf(attempt.time)),
    );
    const got = await found(filter);
    const byId = (one: string, other: string): number => (one < other ? -1 : 1);
    expect(got.map(({ record: each }) => each.decision_id).toSorted(byId)).toEqual(
      expected.map(({ attempt }) => attempt.decision_id).toSorted(byId),
    );
    const attempts = new Map(expected.map((each) => [each.attempt.decision_id, each]));
    for (const { record: each, began } of got) {
      const known = attempts.get(each.decision_id)!;
      expect([each, began]).toEqual([known.record, known.attempt.time]);
    }
    expect(await found(filter, lines)).toEqual(got);
  });

  it('puts requests without an outcome last', async () => {
    const phases = (await found({})).map(({ record: each }) => each.phase);
    expect(phases.lastIndexOf('outcome')).toBeLessThan(phases.indexOf('attempt'));
  });
});

describe('a report', () => {
  it.each(['subject', 'object', 'operation', 'rule', 'backend'] as const)(
    'counts by %s',
    async (by) => {
      const tallies = await reportRequests(folder, by, {});
      for (const tally of tallies) {
        const own = requests().filter(({ record: each }) => each[by] === tally.key);
        const ended = own.map((each) => each.record).filter(({ phase }) => phase === 'outcome');
        expect(tally.requests).toBe(ended.length);
        expect(tally.open).toBe(own.length - ended.length);
        expect(tally.decisions.get('deny') ?? 0).toBe(
          ended.filter(({ decision }) => decision === 'deny').length,
        );
        expect(tally.bytesOut).toBe(ended.reduce((sum, each) => sum + each.bytes_out!, 0n));
      }
      expect(tallies.reduce((sum, { requests: count, open }) => sum + count + open, 0)).toBe(
        requests().length,
      );
      expect(await reportRequests(lines, by, {})).toEqual(tallies);
      expect(await reportRequests(lines, by, {}, undefined, 0)).toEqual(tallies);
    },
  );

  it.each([undefined, 0])(
    'names the damage of a line, on threads from %s bytes on',
    async (most) => {
      const damaged = join(root, `damaged-${most}`);
      await cp(lines, damaged, { recursive: true });
      const [instance] = await readdir(damaged);
      const path = join(damaged, instance!, '00000002.jsonl');
      const text = await readFile(path, 'utf8');
      for (const [from, to] of [
        ['","sequence":', '","sequence":x'],
        [',"subject":', ',"subjekt":'],
        ['"}\n', '"]\n'],
      ] as const) {
        await writeFile(path, text.replace(from, to));
        await expect(reportRequests(damaged, 'subject', {}, undefined, most)).rejects.toThrow(
          RecordFault,
        );
      }
    },
  );

  it('counts the requests of a window', async () => {
    const window = { since: at(100), until: at(130) };
    const tallies = await reportRequests(folder, 'subject', window);
    const own = requests().filter(({ attempt }) => {
      const began = microsOf(attempt.time);
      return began >= window.since && began < window.until;
    });
    expect(tallies.reduce((sum, { requests: count, open }) => sum + count + open, 0)).toBe(
      own.length,
    );
    for (const { first, last } of tallies)
      expect([first >= window.since, last < window.until]).toEqual([true, true]);
    expect(await reportRequests(lines, 'subject', window)).toEqual(tallies);
  });

  it('counts the attempts without an outcome', async () => {
    const open = requests().filter(({ record: each }) => each.phase === 'attempt').length;
    expect(open).toBeGreaterThan(0);
    expect(await countUnanswered(folder)).toBe(open);
  });
});

describe('the log as a table', () => {
  it('has every record, in parts whose times are known', async () => {
    const read: LoggedRecord[] = [];
    const columns = logTable(folder).schema.fields.map(({ name }) => name);
    for (const part of await logTable(folder).parts()) {
      const open = await part.open();
      const times: bigint[] = [];
      for (const [index, rows] of open.batchRows.entries()) {
        const batch = await open.read(index, columns);
        expect(batch.numRows).toBe(rows);
        for (let row = 0; row < rows; row++) {
          read.push(recordAt(batch, row));
          times.push(microsOf(read.at(-1)!.time));
        }
      }
      await open.close();
      const bounds = part.bounds.get('time');
      if (bounds === undefined) continue;
      times.sort((one, other) => (one < other ? -1 : 1));
      expect([times[0], times.at(-1)]).toEqual([bounds.least, bounds.greatest]);
    }
    expect(read).toEqual(all);
  });

  it('is the same when lines are sealed while it is read', async () => {
    const other = join(root, 'other');
    const log = await openAuditLog({ folder: other, rotateBytes: 2 ** 20 });
    for (let index = 0; index < 1500; index++) await log.write(record(`r${index}`), false);
    await log.close();
    const [part] = await logTable(other).parts();
    const open = await part!.open();
    const columns = ['request_id', 'subject'];
    const before = await open.read(1, columns);
    const key = await readOrMakeSigningKey(join(root, 'key.pem'));
    const options = { folder: other, own: '', key, staleMillis: -1, retainMillis: 1e15 };
    await sealFinished({ ...options, write: writeSegment });
    expect((await readdir(join(other, log.instance))).join()).toBe('00000001.arrow,00000001.seal');
    const after = await open.read(1, columns);
    expect([after.numRows, after.toArray().map(String)]).toEqual([
      1500 - 1024,
      before.toArray().map(String),
    ]);
  });
});
