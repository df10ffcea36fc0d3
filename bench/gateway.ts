// The gateway's own cost: DescribeTable with everything on, against nginx that passes on to a
// constant answer, and against the same server with the decision steps off.
import { ADMIN_KEY, Service } from '../test/support/service.ts';
import { RawSide } from './data/raw-side.ts';
import { rowsFrom } from './data/rows.ts';
import { startConstantProxy } from './gateway/nginx.ts';
import { startServer } from './harness/child-server.ts';
import { MEASURED_CORE, pin } from './harness/core.ts';
import { requestsPerSecond, type LoadRequest } from './harness/load.ts';
import { readOptions } from './harness/options.ts';
import { measureRounds } from './harness/rounds.ts';
import { printResult } from './harness/table.ts';
import { enforced, LINES, ROLE } from './gateway/workload.ts';

const UNDECIDED = new URL('./gateway/undecided.ts', import.meta.url).pathname;

const options = readOptions();
const seconds = options.quick ? 1 : 5;
const service = await Service.start({
  ...enforced,
});
try {
  await createTable(service);
  const key = await service.key('reader', ROLE);
  const describe: LoadRequest = {
    url: `${service.url}/v1/table/events/describe`,
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: '{}',
  };
  pin(MEASURED_CORE, service.pid);
  const nginx = await startConstantProxy(await answerTo(describe), MEASURED_CORE);
  const other = await Service.start();
  await createTable(other);
  await other.end();
  const undecided = await startServer(process.execPath, ['--import', 'tsx', UNDECIDED, other.data]);
  pin(MEASURED_CORE, undecided.pid);
  const at = (base: string): LoadRequest => ({
    ...describe,
    url: `${base}/v1/table/events/describe`,
  });
  try {
    const samples = await measureRounds(
      [
        { name: 'DescribeTable', measure: () => requestsPerSecond(describe, seconds) },
        { name: 'nginx', measure: () => requestsPerSecond(at(nginx.url), seconds) },
        { name: 'undecided', measure: () => requestsPerSecond(at(undecided.url), seconds) },
      ],
      options.rounds,
    );
    printResult('gateway', notes(), [
      { work: 'requests answered', unit: '/s', samples, target: '≥ 0.7' },
    ]);
  } finally {
    await undecided.stop();
    await nginx.stop();
    await other.stop();
  }
} finally {
  await service.stop();
}

async function createTable({ url }: Service): Promise<void> {
  const side = new RawSide(url, ADMIN_KEY);
  await side.create('events', rowsFrom(0, 10));
  side.close();
}

async function answerTo({ url, headers, body }: LoadRequest): Promise<string> {
  const response = await fetch(url, { method: 'POST', headers: { ...headers }, body: body ?? '' });
  return response.text();
}

function notes(): readonly string[] {
  return [
    `DescribeTable with an API key, ${LINES.toLocaleString('en-US')} policy lines, two limits and the audit log, over 16`,
    `connections for ${seconds} s a round by autocannon on another core. nginx (one worker) passes the same`,
    'requests on to a constant answer of the same length; "undecided" is the same engine behind the same',
    'server without key, policy and audit record. All three run on the same core, one after the other.',
  ];
}
