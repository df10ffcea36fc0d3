import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ADMIN_KEY, type Service } from '../../test/support/service.ts';
import { RawSide } from '../data/raw-side.ts';
import { arrow, rowsFrom } from '../data/rows.ts';
import { requestsPerSecond, sendRequests, type LoadRequest } from '../harness/load.ts';
import { timed } from '../harness/rounds.ts';
import type { Build, Measurement, OpenArea } from './area.ts';

const ROLE = 'role:reader';
const POLICY = `p, ${ROLE}, /**, read, allow\np, role:admin, /**, *, allow\n`;

/**
 * Durable records of changes, then the commands that read the log. The service of the build writes the log,
 * so that each build reads the records that it writes.
 */
export async function openAudit(build: Build, quick: boolean): Promise<OpenArea> {
  const service = await build.start({ policy: POLICY });
  const rows = rowsFrom(0, 10);
  const side = new RawSide(service.url, ADMIN_KEY);
  await side.create('events', rows);
  side.close();
  const bodyFile = join(service.folder, 'rows.arrow');
  await writeFile(bodyFile, arrow.tableToIPC(rows, 'stream'));
  const append = requestOf(service, 'insert', ADMIN_KEY, { bodyFile });
  const describe = requestOf(service, 'describe', await service.key('reader', ROLE), {
    body: '{}',
  });
  return {
    measurements: [
      {
        work: 'appends of 10 rows',
        unit: '/s',
        measure: () => requestsPerSecond(append, quick ? 1 : 2),
      },
      {
        ...commandMeasurement(service, 'audit', 'verify'),
        prepare: async () => {
          await sendRequests(describe, quick ? 2_000 : 40_000);
          await service.end();
        },
      },
      commandMeasurement(service, 'audit', 'search', '--subject', 'user:reader', '--json'),
      commandMeasurement(service, 'policy', 'replay', '--data', service.data, '--json'),
    ],
    close: () => service.stop(),
  };
}

function requestOf(
  { url }: Service,
  operation: string,
  key: string,
  body: Pick<LoadRequest, 'body' | 'bodyFile'>,
): LoadRequest {
  const type = body.body === undefined ? 'application/vnd.apache.arrow.stream' : 'application/json';
  return {
    url: `${url}/v1/table/events/${operation}`,
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': type },
    ...body,
  };
}

/** Time of a whole command, the start of its process included. */
function commandMeasurement(service: Service, ...args: readonly string[]): Measurement {
  return {
    work: args.slice(0, 2).join(' '),
    unit: 'ms',
    measure: () =>
      timed(async () => {
        const { code, err } = await service.command(...args);
        // 1 is a finding: a log without checkpoints has one.
        if (code !== 0 && code !== 1) throw new Error(`${args.join(' ')}: ${err}`);
      }),
  };
}
