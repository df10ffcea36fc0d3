import { freePort } from '../../test/support/free-port.ts';
import { MEASURED_CORE, LOAD_CORE, pin } from '../harness/core.ts';
import { requestsPerSecond, type LoadRequest } from '../harness/load.ts';
import { startNginx } from '../forward/nginx.ts';
import { enforced, ROLE } from '../gateway/workload.ts';
import type { Build, OpenArea } from './area.ts';

const ANSWER = '{"table":"t","namespace":["far"],"version":1,"schema":{"fields":[]}}';

/** The same request through a remote backend, an nginx that gives a constant answer. */
export async function openForward(build: Build, quick: boolean): Promise<OpenArea> {
  const backend = await startNginx(
    { port: await freePort(), location: `default_type application/json; return 200 '${ANSWER}';` },
    LOAD_CORE,
  );
  const service = await build.start({
    ...enforced,
    config: `
backends:
  - { name: far, type: http, url: "${backend.url}", namespaces: ["/far/**"], trust: [DescribeTable] }
  - { name: embedded, type: embedded, namespaces: ["/**"] }
`,
  });
  const key = await service.key('reader', ROLE);
  pin(MEASURED_CORE, service.pid);
  const load: LoadRequest = {
    url: `${service.url}/v1/table/far$t/describe`,
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: '{}',
  };
  return {
    measurements: [
      {
        work: 'DescribeTable of a remote backend',
        unit: '/s',
        measure: () => requestsPerSecond(load, quick ? 1 : 2),
      },
    ],
    close: async () => {
      await service.stop();
      await backend.stop();
    },
  };
}
