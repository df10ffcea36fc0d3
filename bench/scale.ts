// What grows with gateways, tables, commits, requests and callers, and by how much: the constants of docs/design/scale.md.
import { setTimeout as sleep } from 'node:timers/promises';
import { RedisServer } from '../test/support/redis-server.ts';
import { ADMIN_KEY, Service } from '../test/support/service.ts';
import { LanceModel } from './commit/manifests.ts';
import { ServiceSide } from './commit/service-side.ts';
import { commitsPerSecond } from './commit/work.ts';
import { readOptions } from './harness/options.ts';
import { aligned, figure } from './harness/table.ts';
import { costsEach, costsOf, type Costs } from './scale/costs.ts';

/** One row: what grows, and what each of it costs. */
interface Growth {
  readonly unit: string;
  readonly costs: Costs;
}

const options = readOptions();
const SECONDS = options.quick ? 3 : 30;
const TABLES = options.quick ? 20 : 2000;
const CLIENTS = 64;
const COMMITS = options.quick ? 2 : 32;
const DESCRIBES = options.quick ? 100 : 5000;
const CALLERS = options.quick ? 20 : 1000;
const GATEWAYS = 4;

const growths: Growth[] = [];
const model = await LanceModel.make();
const redis = await RedisServer.start();
const first = await Service.start({
  flags: ['--redis', redis.url],
  limits: 'limits:\n  - { name: each, per: subject, rate: 1000000/m }\n',
});
const gateways = [first];
try {
  await measure('idle second of the first gateway', SECONDS, idle);
  while (gateways.length < GATEWAYS)
    gateways.push(await Service.beside(first, { flags: ['--redis', redis.url] }));
  await sleep(2000);
  await measure(`idle second of ${GATEWAYS} gateways`, SECONDS, idle);
  await Promise.all(gateways.splice(1).map((service) => service.end()));
  await measure('declared table', TABLES, () => each(TABLES, declare));
  const side = new ServiceSide(first.url, ADMIN_KEY, model);
  const work = { clients: CLIENTS, commits: COMMITS };
  await side.prepare(work);
  await measure('version of a Lance table', CLIENTS * COMMITS, () =>
    commitsPerSecond({ ...bound(side), prepare: async () => undefined }, work),
  );
  side.close();
  await each(100, () => describe('t0'));
  await measure('DescribeTable of one table', DESCRIBES, () =>
    each(DESCRIBES, () => describe('t0')),
  );
  await measure('first DescribeTable of a table', TABLES, () =>
    each(TABLES, (at) => describe(`d${at}`)),
  );
  const keys: string[] = [];
  await first.end();
  for (let at = 0; at < CALLERS; at++) keys.push(await first.key(`u${at}`, 'role:admin'));
  await first.restart();
  await each(DESCRIBES, () => describe('t0'));
  await measure('first request of a caller, counted by a limit', CALLERS, () =>
    each(CALLERS, (at) => describe('t0', keys[at])),
  );
  process.stdout.write(`${result().join('\n')}\n`);
} finally {
  for (const service of gateways) await service.stop();
  await redis.stop();
  await model.remove();
}

async function measure(unit: string, units: number, work: () => Promise<unknown>): Promise<void> {
  const before = await costsOf(redis, gateways);
  await work();
  growths.push({ unit, costs: costsEach(before, await costsOf(redis, gateways), units) });
}

function idle(): Promise<unknown> {
  return sleep(1000 * SECONDS);
}

/** By as many clients at once as commit: a Redis that wakes up for each request alone works more. */
async function each(times: number, work: (at: number) => Promise<void>): Promise<void> {
  let next = 0;
  const client = async () => {
    while (next < times) await work(next++);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

function declare(at: number): Promise<void> {
  return post(`d${at}/declare`);
}

function describe(table: string, key?: string): Promise<void> {
  return post(`${table}/describe`, key);
}

async function post(path: string, key = ADMIN_KEY): Promise<void> {
  const url = `${first.url}/v1/table/${path}`;
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: '{}' });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
}

/** The commits of a side, with manifests that were staged before. */
function bound(side: ServiceSide) {
  return {
    commit: (client: number, turn: number) => side.commit(client, turn),
    check: (work: { clients: number; commits: number }) => side.check(work),
  };
}

function result(): readonly string[] {
  return [
    '## scale',
    '',
    'What one more of each costs. Processor time in milliseconds, everything else in commands and bytes.',
    '',
    ...aligned([
      [
        'one',
        'Redis: commands',
        'traffic',
        'CPU ms',
        'memory',
        'gateway: CPU ms',
        'memory',
        'journal',
        'audit log',
      ],
      ['---', '---', ...Array.from({ length: 7 }, () => '--:')],
      ...growths.map(({ unit, costs }) => [unit, ...Object.values(costs).map(cell)]),
    ]),
  ];
}

function cell(value: number): string {
  return value < 0.005 ? '0' : figure(value);
}
