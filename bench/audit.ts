// The audit log: what it costs a request, and how fast it is verified, searched and replayed.
import { execFileSync, spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ADMIN_KEY, Service } from '../test/support/service.ts';
import { DAYS, writeLog, type WrittenLog } from './audit/written-log.ts';
import { RawSide } from './data/raw-side.ts';
import { arrow, rowsFrom } from './data/rows.ts';
import { requestsPerSecond, type LoadRequest } from './harness/load.ts';
import { readOptions } from './harness/options.ts';
import { measureRounds, timed } from './harness/rounds.ts';
import { printResult, type Row } from './harness/table.ts';

const MAIN = new URL('../dist/cli/main.js', import.meta.url).pathname;
/** Loaded before the program: takes the log away, as no configuration can. */
const WITHOUT = new URL('audit/without-log.mjs', import.meta.url).href;
const MODEL = new URL('../policies/model.conf', import.meta.url).pathname;
const SUBJECT = 'user:u7';
/** What is proposed: what the log was allowed by, without reading one table. */
const PROPOSED = `p, role:reader, /prod/**, describe, allow
p, role:reader, /prod/**, read, allow
p, role:reader, /prod/**, append, allow
p, group:data, /prod/t7, QueryTable, deny
`;

const options = readOptions();
/** Rounds before the measured ones: code is compiled anew for a hundred thousand requests. */
const WARMUPS = 4;
const records = options.quick ? 40_000 : 1_000_000;
const seconds = options.quick ? 1 : 3;

const folder = await mkdtemp(join(tmpdir(), 'arrowgate-audit-'));
const bodyFile = join(folder, 'rows.arrow');
await writeFile(bodyFile, arrow.tableToIPC(rowsFrom(0, 10), 'stream'));

printResult('audit', notes(), [...(await costRows()), ...(await readingRows())]);
await rm(folder, { recursive: true });

async function costRows(): Promise<readonly Row[]> {
  const withLog = await Service.start();
  const without = await Service.start({ nodeFlags: ['--import', WITHOUT] });
  try {
    for (const service of [withLog, without]) {
      const side = new RawSide(service.url, ADMIN_KEY);
      await side.create('events', rowsFrom(0, 10));
      side.close();
    }
    await requireLog(withLog, true);
    await requireLog(without, false);
    return [
      await costRow('DescribeTable', withLog, without, describe),
      await costRow('appends of 10 rows', withLog, without, append),
    ];
  } finally {
    await withLog.stop();
    await without.stop();
  }
}

/** @throws Error when a side writes a log and must not, or does not and must. */
async function requireLog(service: Service, wanted: boolean): Promise<void> {
  const records = await service.audit();
  if (records.length > 0 !== wanted) throw new Error(`a side has ${records.length} audit records`);
}

async function costRow(
  work: string,
  withLog: Service,
  without: Service,
  load: (url: string) => LoadRequest,
): Promise<Row> {
  const sides = { 'with the log': withLog.url, 'without it': without.url };
  const samples = await measureRounds(
    Object.entries(sides).map(([name, url]) => ({
      name,
      warmups: options.quick ? 1 : WARMUPS,
      measure: () => requestsPerSecond(load(url), seconds),
    })),
    options.rounds,
  );
  return { work, unit: '/s', samples, target: '≥ 0.90' };
}

function describe(url: string): LoadRequest {
  const headers = { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json' };
  return { url: `${url}/v1/table/events/describe`, method: 'POST', headers, body: '{}' };
}

function append(url: string): LoadRequest {
  const headers = {
    'x-api-key': ADMIN_KEY,
    'content-type': 'application/vnd.apache.arrow.stream',
  };
  return { url: `${url}/v1/table/events/insert`, method: 'POST', headers, bodyFile };
}

async function readingRows(): Promise<readonly Row[]> {
  const data = join(folder, 'data');
  const log = await writeLog(data, records);
  return [await verifyRow(data, log), await searchRow(data, log), await replayRow(data, log)];
}

async function verifyRow(data: string, { text }: WrittenLog): Promise<Row> {
  const samples = await measureRounds(
    [
      { name: 'audit verify', measure: () => timed(async () => command('verify', data)) },
      { name: 'sha256sum', measure: () => timed(async () => execFileSync('sha256sum', [text])) },
    ],
    options.rounds,
  );
  return { work: 'verify', unit: 'ms', samples, target: '≤ 6.67' };
}

async function searchRow(data: string, { text, day: [since, until] }: WrittenLog): Promise<Row> {
  const flags = ['--subject', SUBJECT, '--since', since, '--until', until, '--json'];
  const expected = records / 2 / 100 / DAYS;
  const found = command('search', data, ...flags).split('\n').length - 1;
  if (found !== expected) throw new Error(`${found} requests were found, not ${expected}`);
  const samples = await measureRounds(
    [
      {
        name: 'audit search, a subject on a day',
        measure: () => timed(async () => command('search', data, ...flags)),
      },
      {
        name: 'grep -c',
        measure: () => timed(async () => execFileSync('grep', ['-c', `"${SUBJECT}"`, text])),
      },
    ],
    options.rounds,
  );
  return { work: 'search', unit: 'ms', samples, target: '≤ 0.20 of 10 million' };
}

async function replayRow(data: string, { text }: WrittenLog): Promise<Row> {
  const policies = join(folder, 'proposed');
  await mkdir(policies);
  await cp(MODEL, join(policies, 'model.conf'));
  await writeFile(join(policies, 'policy.csv'), PROPOSED);
  const replay = () =>
    program('policy', 'replay', '--data', data, '--policies', policies, '--json');
  const { requests, same, changed, skipped } = JSON.parse(replay()) as Record<string, unknown>;
  if (requests !== records / 2 || same === requests || !isEmpty(skipped) || isEmpty(changed)) {
    throw new Error('the requests were not replayed');
  }
  const samples = await measureRounds(
    [
      { name: 'policy replay', measure: () => timed(async () => replay()) },
      { name: 'sha256sum', measure: () => timed(async () => execFileSync('sha256sum', [text])) },
    ],
    options.rounds,
  );
  return { work: 'replay', unit: 'ms', samples };
}

function isEmpty(list: unknown): boolean {
  return Array.isArray(list) && list.length === 0;
}

function command(name: string, data: string, ...flags: readonly string[]): string {
  return program('audit', name, '--data', data, ...flags);
}

function program(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], {
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  });
  // A log without checkpoints has a finding.
  if (status === 2) throw new Error(stderr);
  return stdout;
}

function notes(): readonly string[] {
  const count = records.toLocaleString('en-US');
  return [
    `Requests over 16 connections for ${seconds} s a round, with durable records of changes and without any log,`,
    `which only this benchmark can take away. Below that a log of ${count} records of ${DAYS} days and 100 subjects,`,
    "written by the gateway's own writer and sealed, against the same lines as one text file; the replay is",
    'of all of its requests, by a policy that takes one right away. Commands',
    'count with the start of their process; both sides read what the system has in memory.',
  ];
}
