// What forwarding costs: DescribeTable through a remote backend, against nginx and bare undici in front of the same backend.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Service } from '../test/support/service.ts';
import { policyText } from './decide/workload.ts';
import { startNginx } from './forward/nginx.ts';
import { enforced } from './gateway/workload.ts';
import { freePort } from '../test/support/free-port.ts';
import { startServer } from './harness/child-server.ts';
import { pinned } from './harness/core.ts';
import { requestsPerSecond, type LoadRequest } from './harness/load.ts';
import { readOptions } from './harness/options.ts';
import { measureRounds } from './harness/rounds.ts';
import { printResult } from './harness/table.ts';

const LINES = 10_000;
const ROLE = 'role:reader';
/** The gateway and nginx in its place run here, one at a time; backend and load on the other. */
const CORE = 0;
const OTHER = 1;
const UNDICI = fileURLToPath(new URL('forward/bare-undici.mjs', import.meta.url));
const ANSWER = '{"table":"t","namespace":["far"],"version":1,"schema":{"fields":[]}}';

const options = readOptions();
const seconds = options.quick ? 1 : 3;
execFileSync('taskset', ['-cp', String(OTHER), String(process.pid)], { stdio: 'ignore' });

const backend = await startNginx(
  { port: await freePort(), location: `default_type application/json; return 200 '${ANSWER}';` },
  OTHER,
);
const upstream = new URL(backend.url).host;
const proxy = await startNginx(
  {
    port: await freePort(),
    upstream,
    location: 'proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection "";',
  },
  CORE,
);
const bare = await startServer(...pinned(CORE, process.execPath, [UNDICI, backend.url]));
const service = await Service.start({
  policy: `${policyText(LINES)}p, ${ROLE}, /**, read, allow\np, ${ROLE}, /**, commit, allow\np, role:admin, /**, *, allow\n`,
  limits: enforced.limits,
  config: `
trusted_proxies: [127.0.0.1]
backends:
  - { name: far, type: http, url: "${backend.url}", namespaces: ["/far/**"], trust: [DescribeTable] }
  - { name: embedded, type: embedded, namespaces: ["/**"] }
`,
});
execFileSync('taskset', ['-acp', String(CORE), String(service.pid)], { stdio: 'ignore' });
try {
  const key = await service.key('reader', ROLE);
  const describe = (url: string): LoadRequest => ({
    url: `${url}/v1/table/far$t/describe`,
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: '{}',
  });
  const samples = await measureRounds(
    [
      { name: 'arrowgate', measure: () => requestsPerSecond(describe(service.url), seconds) },
      { name: 'nginx', measure: () => requestsPerSecond(describe(proxy.url), seconds) },
      { name: 'bare undici', measure: () => requestsPerSecond(describe(bare.url), seconds) },
    ],
    options.rounds,
  );
  printResult('forward', notes(), [
    { work: 'requests answered', unit: '/s', samples, target: '≥ 0.26' },
  ]);
} finally {
  await service.stop();
  await bare.stop();
  await proxy.stop();
  await backend.stop();
}

function notes(): readonly string[] {
  return [
    `DescribeTable with an API key, ${LINES.toLocaleString('en-US')} policy lines, two limits, trusted proxies and the audit log on, forwarded to`,
    'a remote backend that gives a constant answer, sent over 16 connections by autocannon in a process of',
    `its own for ${seconds} s a round. The peers are nginx with one worker, which passes the same requests on`,
    'with proxy_pass over connections that it keeps, and a process of Node that does nothing but send them on with',
    'undici (asked: at least 0.8 of it). Each has core 0 while it is measured; the backend, an nginx too, and the load share the other.',
  ];
}
