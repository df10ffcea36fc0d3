// The gateway's own cost: DescribeTable with everything on, against the bare floor of the same server.
import { ADMIN_KEY, Service } from '../test/support/service.ts';
import { RawSide } from './data/raw-side.ts';
import { rowsFrom } from './data/rows.ts';
import { policyText } from './decide/workload.ts';
import { newApiKey } from './harness/api-key.ts';
import { requestsPerSecond, type LoadRequest } from './harness/load.ts';
import { readOptions } from './harness/options.ts';
import { measureRounds } from './harness/rounds.ts';
import { printResult } from './harness/table.ts';

const LINES = 10_000;
const ROLE = 'role:reader';

const options = readOptions();
const seconds = options.quick ? 1 : 3;
const service = await Service.start({
  policy: `${policyText(LINES)}p, ${ROLE}, /**, read, allow\np, role:admin, /**, *, allow\n`,
});
try {
  await createTable();
  const key = await newApiKey(service.data, 'reader', ROLE);
  const describe: LoadRequest = {
    url: `${service.url}/v1/table/events/describe`,
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: '{}',
  };
  const floor: LoadRequest = { url: `${service.url}/healthz`, method: 'GET' };
  const samples = await measureRounds(
    [
      { name: 'DescribeTable', measure: () => requestsPerSecond(describe, seconds) },
      { name: 'GET /healthz', measure: () => requestsPerSecond(floor, seconds) },
    ],
    options.rounds,
  );
  printResult('gateway', notes(), [{ work: 'requests answered', unit: '/s', samples }]);
} finally {
  await service.stop();
}

async function createTable(): Promise<void> {
  const side = new RawSide(service.url, ADMIN_KEY);
  await side.create('events', rowsFrom(0, 10));
  side.close();
}

function notes(): readonly string[] {
  return [
    `DescribeTable with an API key, ${LINES.toLocaleString('en-US')} policy lines and the audit log on, sent over 16`,
    `connections for ${seconds} s a round by autocannon in a process of its own. The peer is no other`,
    'product yet but the floor of the same server: GET /healthz, which is answered without key,',
    'policy, audit record or catalog.',
  ];
}
