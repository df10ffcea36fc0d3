// Gateways that share nothing but Redis and a bucket: commits against their bare floor, descriptions, and rows of Lance tables.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BucketServer } from '../test/support/bucket-server.ts';
import { bucketFiles } from '../test/support/client-files.ts';
import { FaultyProxy } from '../test/support/faulty-proxy.ts';
import { RedisServer } from '../test/support/redis-server.ts';
import { ADMIN_KEY, Service } from '../test/support/service.ts';
import { BucketFloor } from './bucket/bucket-floor.ts';
import { bucketService, storageOptions } from './bucket/bucket-service.ts';
import { latencies, percentile } from './busy/latency.ts';
import { LanceModel } from './commit/manifests.ts';
import { ServiceSide } from './commit/service-side.ts';
import { commitsPerSecond, type Work } from './commit/work.ts';
import { lanceEmbedded } from './data/lance-side.ts';
import { readQuestions } from './data/reads.ts';
import { rowsFrom } from './data/rows.ts';
import { readOptions } from './harness/options.ts';
import { measureRounds } from './harness/rounds.ts';
import { printResult, type Row } from './harness/table.ts';
import { LanceTableSide } from './lance/lance-table-side.ts';

const options = readOptions();
const MANY: Work = { clients: 64, commits: options.quick ? 2 : 8 };
const DESCRIBES = options.quick ? 100 : 1000;
const rows = rowsFrom(0, options.quick ? 10_000 : 100_000);

const model = await LanceModel.make();
const folder = await mkdtemp(join(tmpdir(), 'arrowgate-bench-'));
const redis = await RedisServer.start();
const server = await BucketServer.start('seaweedfs');
const service = await bucketService(server, redis.url);
const ours = new ServiceSide(service.url, ADMIN_KEY, model, bucketFiles(server));
try {
  const commits = await commitRow();
  const cold = await coldRequests();
  const results = [commits, await describeRow(), ...(await queryRows())];
  printResult('bucket', notes(cold), results);
} finally {
  ours.close();
  await service.stop();
  await server.stop();
  await redis.stop();
  await rm(folder, { recursive: true });
  await model.remove();
}

async function commitRow(): Promise<Row> {
  const floor = await BucketFloor.open(server, redis.url, folder, model.manifest(1));
  try {
    const samples = await measureRounds(
      [
        { name: 'CreateTableVersion', measure: () => commitsPerSecond(ours, MANY) },
        { name: 'bare floor', measure: () => commitsPerSecond(floor, MANY) },
      ],
      options.rounds,
    );
    return { work: '64 clients on 64 tables', unit: '/s', samples, target: '≥ 0.50' };
  } finally {
    await floor.close();
  }
}

/** Requests to the bucket for the first DescribeTable of each table on another gateway. */
async function coldRequests(): Promise<number> {
  const proxy = await FaultyProxy.before(server.endpoint);
  const other = await bucketService(server, redis.url, proxy.url);
  try {
    let requests = 0;
    proxy.fate = ({ url = '' }) => {
      if (url.includes('/shared/lance/')) requests += 1;
      return undefined;
    };
    for (let table = 0; table < MANY.clients; table++) {
      await latencies(`${other.url}/v1/table/t${table}/describe`, ADMIN_KEY, 1);
    }
    return requests / MANY.clients;
  } finally {
    await other.stop();
    await proxy.close();
  }
}

/** DescribeTable of a table that was described before. */
async function describeRow(): Promise<Row> {
  const coordination = `coordination: { redis: '${redis.url}', catalog: local }\n`;
  const local = await Service.start({ config: coordination });
  const side = new ServiceSide(local.url, ADMIN_KEY, model);
  try {
    await commitsPerSecond(side, { clients: 1, commits: 2 });
    const p50 = async ({ url }: Service): Promise<number> =>
      percentile(await latencies(`${url}/v1/table/t0/describe`, ADMIN_KEY, DESCRIBES), 0.5);
    const samples = await measureRounds(
      [
        { name: 'in a bucket', measure: () => p50(service) },
        { name: 'in a folder', measure: () => p50(local) },
      ],
      options.rounds,
    );
    return { work: 'p50 of DescribeTable', unit: 'ms', samples, target: '≤ 1.00' };
  } finally {
    side.close();
    await local.stop();
  }
}

/** Reads of a Lance table in the bucket. */
async function queryRows(): Promise<readonly Row[]> {
  const credentials = storageOptions(server);
  const served = await LanceTableSide.connect(service.url, ADMIN_KEY, credentials);
  const sides = [served, await lanceEmbedded(`s3://${server.bucket}/peer`, credentials)];
  try {
    for (const side of sides) await side.create('rows', rows);
    const results: Row[] = [];
    for (const question of readQuestions('rows', rows)) {
      const { work, warmups = 1 } = question;
      const samples = await measureRounds(
        sides.map((side) => ({ name: side.name, warmups, measure: () => question.measure(side) })),
        options.rounds,
      );
      results.push({ work, unit: 'ms', samples, target: '≤ 1.30' });
    }
    return results;
  } finally {
    served.close();
  }
}

function notes(cold: number): readonly string[] {
  return [
    'A gateway whose journal and Lance tables lie in SeaweedFS on this machine, with Redis (appendfsync always). Commits:',
    `${MANY.commits} of each of 64 clients, whose manifests are staged before the clock runs. The floor is one conditional put,`,
    'one commit of Redis and one line of a journal whose lines share objects, without a service.',
    `DescribeTable of the 64 tables by a gateway that has none of them in memory: ${cold} requests to the bucket for each.`,
    `Rows: ${rows.numRows.toLocaleString('en-US')} of (int64, utf8, float64, 128 × float32); LanceDB reads the same bucket from the process of the benchmark.`,
  ];
}
