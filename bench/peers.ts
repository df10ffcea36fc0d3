// The project against servers that do a part of its work: the REST server of the Lance namespace that pylance has,
// and Open Policy Agent. They are installed when this is asked for.
import { diskFiles } from '../test/support/client-files.ts';
import { ADMIN_KEY, Service } from '../test/support/service.ts';
import { LanceModel } from './commit/manifests.ts';
import { ServiceSide } from './commit/service-side.ts';
import { commitsPerSecond, type Work } from './commit/work.ts';
import { onFreshTable } from './data/question.ts';
import { RawSide } from './data/raw-side.ts';
import { rowsFrom } from './data/rows.ts';
import { enforced, LINES, ROLE } from './gateway/workload.ts';
import type { ChildServer } from './harness/child-server.ts';
import { MEASURED_CORE, pin } from './harness/core.ts';
import { requestsPerSecond, type LoadRequest } from './harness/load.ts';
import { readOptions } from './harness/options.ts';
import { measureRounds, SHORT_WARMUPS, timedEach } from './harness/rounds.ts';
import { printResult, type Row } from './harness/table.ts';
import { startOpa, verdictOf, type Grants } from './peers/opa.ts';
import { referenceFiles, startReference } from './peers/reference-server.ts';

const OURS = 'arrowgate';
const REFERENCE = 'reference server';
const FEW_ROWS = 10;
const SOME_ROWS = 3000;
const APPENDS = 20;
/** Rounds of commits to other tables before: the peer takes longer for each version that a table has. */
const WORKED_ROUNDS = 10;
/** Rounds that are not measured: code of the project is still compiled anew after 1,000 appends. */
const WARMUPS = 60;
/** Appends to one table before the measured ones. */
const GROWN = 500;
const TABLE = 'appended';
const GROWN_TABLE = 'grown';
/** Users of the policy, each with its lines. */
const USERS = LINES / 10;

const options = readOptions();
const seconds = options.quick ? 1 : 5;
const commits: Work = { clients: 64, commits: options.quick ? 2 : 16 };

printResult('peers', notes(), [...(await besideReference()), await besideOpa()]);

async function besideReference(): Promise<readonly Row[]> {
  const reference = await startReference();
  const service = await Service.start();
  try {
    return [
      await appends(reference, service, FEW_ROWS),
      await appendsToGrown(reference, service),
      await appends(reference, service, SOME_ROWS),
      await versions(reference, service),
    ];
  } finally {
    await service.stop();
    await reference.stop();
  }
}

async function appends(reference: ChildServer, service: Service, count: number): Promise<Row> {
  const rows = rowsFrom(0, count);
  const sides = sidesOf(reference, service);
  const append = (side: RawSide) =>
    onFreshTable(side, TABLE, rows, () => timedEach(APPENDS, () => side.append(TABLE, rows)));
  const samples = await measureRounds(
    sides.map((side) => ({
      name: side.name,
      warmups: options.quick ? SHORT_WARMUPS : WARMUPS,
      measure: () => append(side),
    })),
    options.rounds,
  );
  for (const side of sides) side.close();
  const work = `append of ${count.toLocaleString('en-US')} rows`;
  return { work, unit: 'ms', samples, target: '≤ 0.90' };
}

/** To a table that has had many of them: the peer lists all versions of a table, and reads all fragments of the last. */
async function appendsToGrown(reference: ChildServer, service: Service): Promise<Row> {
  const rows = rowsFrom(0, FEW_ROWS);
  const before = options.quick ? APPENDS : GROWN;
  const sides = sidesOf(reference, service);
  const append = (side: RawSide) => timedEach(APPENDS, () => side.append(GROWN_TABLE, rows));
  for (const side of sides) {
    await side.create(GROWN_TABLE, rows);
    await timedEach(before, () => side.append(GROWN_TABLE, rows));
  }
  const samples = await measureRounds(
    sides.map((side) => ({ name: side.name, measure: () => append(side) })),
    options.rounds,
  );
  for (const side of sides) side.close();
  const work = `append of ${FEW_ROWS} rows after ${before} others`;
  return { work, unit: 'ms', samples, target: '≤ 0.90' };
}

function sidesOf(reference: ChildServer, service: Service): readonly RawSide[] {
  return [
    new RawSide(service.url, ADMIN_KEY, OURS),
    new RawSide(reference.url, ADMIN_KEY, REFERENCE),
  ];
}

async function versions(reference: ChildServer, service: Service): Promise<Row> {
  const model = await LanceModel.make();
  const sidesOn = (prefix: string) => [
    { name: OURS, side: new ServiceSide(service.url, ADMIN_KEY, model, diskFiles, prefix) },
    {
      name: REFERENCE,
      side: new ServiceSide(reference.url, ADMIN_KEY, model, referenceFiles, prefix),
    },
  ];
  const [worked, measured] = [sidesOn('worked'), sidesOn('measured')];
  for (let time = 0; time < (options.quick ? 1 : WORKED_ROUNDS); time++) {
    for (const { side } of worked) await commitsPerSecond(side, commits);
  }
  const samples = await measureRounds(
    measured.map(({ name, side }) => ({ name, measure: () => commitsPerSecond(side, commits) })),
    options.rounds,
  );
  for (const { side } of [...worked, ...measured]) side.close();
  await model.remove();
  return { work: 'CreateTableVersion, 64 clients', unit: '/s', samples, target: '≥ 1.00' };
}

async function besideOpa(): Promise<Row> {
  const service = await Service.start({ ...enforced, config: 'trusted_proxies: [127.0.0.1]\n' });
  const opa = await startOpa(grants());
  try {
    const key = await service.key('reader', ROLE);
    await new RawSide(service.url, ADMIN_KEY).create('events', rowsFrom(0, FEW_ROWS));
    pin(MEASURED_CORE, service.pid);
    const ours: LoadRequest = {
      url: `${service.url}/authorize/v1/table/events/describe`,
      method: 'POST',
      headers: { 'x-api-key': key },
    };
    const input = { subject: 'user:reader', action: 'DescribeTable', object: '/events' };
    const theirs: LoadRequest = {
      url: verdictOf(opa),
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ input }),
    };
    await requireAllowed(theirs);
    const samples = await measureRounds(
      [
        { name: OURS, measure: () => requestsPerSecond(ours, seconds) },
        { name: 'OPA', measure: () => requestsPerSecond(theirs, seconds) },
      ],
      options.rounds,
    );
    return { work: '/authorize, one core', unit: '/s', samples, target: '≥ 2.00' };
  } finally {
    await opa.stop();
    await service.stop();
  }
}

/** The policy of the service as data of OPA. */
function grants(): Grants {
  const names = Array.from({ length: USERS }, (_, user) => `user:u${user}`);
  const lines = (user: number) =>
    Array.from({ length: LINES / USERS }, (_, at) => ({
      object: `/ns${user}/t${at}`,
      action: 'DescribeTable',
    }));
  const read = ['DescribeTable', 'QueryTable'].map((action) => ({ object: '/**', action }));
  return {
    roles: { 'user:reader': [ROLE] },
    grants: {
      ...Object.fromEntries(names.map((name, user) => [name, lines(user)])),
      [ROLE]: read,
    },
  };
}

/** @throws Error when OPA refuses what is measured */
async function requireAllowed({ url, headers, body }: LoadRequest): Promise<void> {
  const answer = await fetch(url, { method: 'POST', headers: { ...headers }, body: body ?? '' });
  const text = await answer.text();
  if (!text.includes('"result":true')) throw new Error(`OPA answers ${text}`);
}

function notes(): readonly string[] {
  return [
    'Appends are sent by node:http, 20 to a fresh table in each round, after 60 such rounds, and 20 to one that grows by them;',
    'CreateTableVersion by 64 clients on 64 tables, with staged manifests, after 10 rounds on other tables. The reference server',
    'is that of pylance on a folder: it decides and records nothing, takes longer the more versions a table has, and flushes nothing',
    `to the disk. /authorize has ${LINES.toLocaleString('en-US')} policy lines, two limits and the audit log; OPA has as many grants by`,
    `caller, no log, and one processor. Both are asked over 16 connections for ${seconds} s a round and run on the same core.`,
  ];
}
