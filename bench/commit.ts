// CreateTableVersion as Lance clients ask for it, against the bare floor of a commit on the same store.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RedisServer } from '../test/support/redis-server.ts';
import { ADMIN_KEY, Service } from '../test/support/service.ts';
import { FloorSide } from './commit/floor-side.ts';
import { LanceModel } from './commit/manifests.ts';
import { ServiceSide } from './commit/service-side.ts';
import { commitsPerSecond, type Work } from './commit/work.ts';
import { readOptions } from './harness/options.ts';
import { measureRounds } from './harness/rounds.ts';
import { printResult, type Row } from './harness/table.ts';

const options = readOptions();
const MANY: Work = { clients: 64, commits: options.quick ? 2 : 16 };
/** Rounds before: code of the service is compiled anew for thousands of commits. */
const WARMUPS = 10;
const ONE: Work = { clients: 1, commits: options.quick ? 20 : 200 };

let acknowledged = 0;
const model = await LanceModel.make();
const redis = await RedisServer.start();
try {
  const rows = [
    ...(await rowsOn('embedded', null)),
    ...(await rowsOn('Redis, appendfsync always', redis.url)),
  ];
  printResult('commit', notes(), rows);
} finally {
  await redis.stop();
  await model.remove();
}

async function rowsOn(store: string, url: string | null): Promise<readonly Row[]> {
  const service = await Service.start({ flags: url === null ? [] : ['--redis', url] });
  const folder = await mkdtemp(join(tmpdir(), 'arrowgate-floor-'));
  const ours = new ServiceSide(service.url, ADMIN_KEY, model);
  const floor = await FloorSide.open(folder, url, model.manifest(1));
  try {
    const rows = [
      await row(`64 clients on 64 tables, ${store}`, MANY, '≥ 0.70', ours, floor),
      await row(`one client on one table, ${store}`, ONE, '≥ 0.40', ours, floor),
    ];
    acknowledged += ours.acknowledged;
    return rows;
  } finally {
    ours.close();
    await floor.close();
    await service.stop();
    await rm(folder, { recursive: true });
  }
}

async function row(
  work: string,
  amount: Work,
  target: string,
  ours: ServiceSide,
  floor: FloorSide,
): Promise<Row> {
  const warmups = options.quick ? 1 : WARMUPS;
  const samples = await measureRounds(
    [
      { name: 'CreateTableVersion', warmups, measure: () => commitsPerSecond(ours, amount) },
      { name: 'bare floor', warmups, measure: () => commitsPerSecond(floor, amount) },
    ],
    options.rounds,
  );
  return { work, unit: '/s', samples, target };
}

function notes(): readonly string[] {
  return [
    `CreateTableVersion through HTTP, ${MANY.commits} commits of each of 64 clients and ${ONE.commits} of a single one, with policy,`,
    'audit and journal on; the manifests are copies of one that LanceDB wrote, staged before the clock runs.',
    'The floor is one durable file, one conditional commit of the same store and one durable line of a log,',
    'without a service. After each measurement every version was listed and every manifest counted:',
    `of ${acknowledged.toLocaleString('en-US')} acknowledged commits none was lost, and none was made twice.`,
  ];
}
