import { ADMIN_KEY } from '../../test/support/service.ts';
import { RawSide } from '../data/raw-side.ts';
import { rowsFrom } from '../data/rows.ts';
import { MEASURED_CORE, pin } from '../harness/core.ts';
import { requestsPerSecond, type LoadRequest } from '../harness/load.ts';
import type { Build, OpenArea } from './area.ts';
import { enforced, ROLE } from '../gateway/workload.ts';

/** Small requests with an API key, a long policy, two limits and the audit log. */
export async function openGateway(build: Build, quick: boolean): Promise<OpenArea> {
  const service = await build.start(enforced);
  const side = new RawSide(service.url, ADMIN_KEY);
  await side.create('events', rowsFrom(0, 10));
  side.close();
  const key = await service.key('reader', ROLE);
  pin(MEASURED_CORE, service.pid);
  const seconds = quick ? 1 : 2;
  const rate = (operation: string, body: string) => {
    const load: LoadRequest = {
      url: `${service.url}/v1/table/events/${operation}`,
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body,
    };
    return requestsPerSecond(load, seconds);
  };
  return {
    measurements: [
      { work: 'DescribeTable', unit: '/s', measure: () => rate('describe', '{}') },
      { work: 'CountTableRows', unit: '/s', measure: () => rate('count_rows', '{}') },
    ],
    close: () => service.stop(),
  };
}
