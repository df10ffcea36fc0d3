// What further processes cost: requests that are answered for a second of processor time, by two processes behind one
// port and by one. All of them share a core, so the ratio does not depend on what else the machine does.
import { ADMIN_KEY, Service, type ServiceOptions } from '../test/support/service.ts';
import { RawSide } from './data/raw-side.ts';
import { rowsFrom } from './data/rows.ts';
import { enforced, LINES, ROLE } from './gateway/workload.ts';
import { MEASURED_CORE, pin } from './harness/core.ts';
import { requestsPerSecond, type LoadRequest } from './harness/load.ts';
import { readOptions } from './harness/options.ts';
import { processesOf, processorTime } from './harness/processor-time.ts';
import { measureRounds, type Side } from './harness/rounds.ts';
import { printResult, type Row } from './harness/table.ts';

/** Connections for each process. */
const CONNECTIONS = 16;

const options = readOptions();
const seconds = options.quick ? 1 : 5;

printResult('cores', notes(), [
  await described('DescribeTable, without limits', { policy: enforced.policy }),
  await described('DescribeTable, with two limits', enforced),
]);

async function described(work: string, settings: ServiceOptions): Promise<Row> {
  const services = [
    await Service.start({ ...settings, flags: ['--processes', '2'] }),
    await Service.start(settings),
  ];
  try {
    const sides: Side[] = [];
    for (const [at, service] of services.entries()) sides.push(await sideOf(2 - at, service));
    const samples = await measureRounds(sides, options.rounds);
    return { work, unit: '/s', samples, target: '≥ 0.9' };
  } finally {
    for (const service of services) await service.stop();
  }
}

async function sideOf(processes: number, service: Service): Promise<Side> {
  const name = processes === 1 ? 'one process' : 'two processes';
  const table = new RawSide(service.url, ADMIN_KEY);
  await table.create('events', rowsFrom(0, 10));
  table.close();
  const describe: LoadRequest = {
    url: `${service.url}/v1/table/events/describe`,
    method: 'POST',
    headers: {
      'x-api-key': await service.key('reader', ROLE),
      'content-type': 'application/json',
    },
    body: '{}',
  };
  for (const pid of processesOf(service.pid)) pin(MEASURED_CORE, pid);
  const measure = async (): Promise<number> => {
    const before = processorTime(service.pid);
    const answered =
      (await requestsPerSecond(describe, seconds, processes * CONNECTIONS)) * seconds;
    return (1000 * answered) / (processorTime(service.pid) - before);
  };
  return { name, measure };
}

function notes(): readonly string[] {
  return [
    `Requests for a second of processor time: DescribeTable with an API key, ${LINES.toLocaleString('en-US')} policy lines and the audit`,
    `log, over 16 connections to each process for ${seconds} s a round by autocannon on another core. The processor time is that of the`,
    'process or of both with their supervisor. Where cores are free, two processes answer twice the ratio of one.',
  ];
}
