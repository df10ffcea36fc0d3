// What further processes cost: requests that are answered for a second of processor time, by two processes behind one
// port, by one, and by two services that share nothing. Two cores are enough to measure it, as processor time does not
// tell who waits for a core; but cores that are both busy may be slower, and the services are slower by it, too.
import { ADMIN_KEY, Service, type ServiceOptions } from '../test/support/service.ts';
import { RawSide } from './data/raw-side.ts';
import { rowsFrom } from './data/rows.ts';
import { enforced, LINES, ROLE } from './gateway/workload.ts';
import { requestsPerSecond, type LoadRequest } from './harness/load.ts';
import { readOptions } from './harness/options.ts';
import { processorTime } from './harness/processor-time.ts';
import { measureRounds, type Side } from './harness/rounds.ts';
import { printResult, type Row } from './harness/table.ts';

/** Connections for each process. */
const CONNECTIONS = 16;
/** Rounds that are not measured: each of two processes has half of the requests by which its code is compiled. */
const WARMUPS = 2;

const options = readOptions();
const seconds = options.quick ? 1 : 5;
const warmups = options.quick ? 1 : WARMUPS;

printResult('cores', notes(), [
  await described('DescribeTable, without limits', { policy: enforced.policy }),
  await described('DescribeTable, with two limits', enforced),
]);

async function described(work: string, settings: ServiceOptions): Promise<Row> {
  const two = await asked({ ...settings, flags: ['--processes', '2'] }, 2 * CONNECTIONS);
  const one = await asked(settings, CONNECTIONS);
  const other = await asked(settings, CONNECTIONS);
  const sides: readonly Side[] = [
    { name: 'two processes', warmups, measure: () => perProcessorSecond([two]) },
    { name: 'one process', warmups, measure: () => perProcessorSecond([one]) },
    { name: 'two services apart', warmups, measure: () => perProcessorSecond([one, other]) },
  ];
  try {
    const samples = await measureRounds(sides, options.rounds);
    return { work, unit: '/s', samples, target: '≥ 0.9' };
  } finally {
    for (const { service } of [two, one, other]) await service.stop();
  }
}

/** What services answer for a second of their processor time, asked all at once. */
async function perProcessorSecond(services: readonly Asked[]): Promise<number> {
  const used = (): number =>
    services.reduce((sum, { service }) => sum + processorTime(service.pid), 0);
  const before = used();
  const rates = await Promise.all(services.map((each) => each.rate()));
  const answered = rates.reduce((sum, rate) => sum + rate) * seconds;
  return (1000 * answered) / (used() - before);
}

/** A service with one table, which is described over and over. */
interface Asked {
  readonly service: Service;
  /** Requests that it answers a second. */
  readonly rate: () => Promise<number>;
}

async function asked(settings: ServiceOptions, connections: number): Promise<Asked> {
  const service = await Service.start(settings);
  const load = await describeOf(service);
  return { service, rate: () => requestsPerSecond(load, seconds, connections) };
}

async function describeOf(service: Service): Promise<LoadRequest> {
  const table = new RawSide(service.url, ADMIN_KEY);
  await table.create('events', rowsFrom(0, 10));
  table.close();
  return {
    url: `${service.url}/v1/table/events/describe`,
    method: 'POST',
    headers: {
      'x-api-key': await service.key('reader', ROLE),
      'content-type': 'application/json',
    },
    body: '{}',
  };
}

function notes(): readonly string[] {
  return [
    `Requests for a second of processor time: DescribeTable with an API key, ${LINES.toLocaleString('en-US')} policy lines and the audit`,
    `log, over 16 connections to each process for ${seconds} s a round by autocannon. The processor time is that of the`,
    'process or of both with their supervisor. Where cores are free, two processes answer twice the ratio of one. Both',
    'cores are busy under two processes, and may be slower for it. Two services apart, each asked in the same way, share',
    'nothing but the machine; one of them is also the one process, so its code is warmer.',
  ];
}
