// How late DescribeTable is while somebody scans a gibibyte and somebody sorts four million rows.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { ADMIN_KEY, Service } from '../test/support/service.ts';
import { askCurl, askNode, Background, type Asker } from './busy/background.ts';
import { sortableRows } from './busy/rows.ts';
import { RawSide } from './data/raw-side.ts';
import { rowsFrom } from './data/rows.ts';
import { readOptions } from './harness/options.ts';
import { printResult, type Row } from './harness/table.ts';

interface Latency {
  readonly p50: number;
  readonly p99: number;
}

const options = readOptions();
const scale = options.quick ? 20 : 1;
const WIDE_ROWS = Math.ceil(1_900_000 / scale);
const PIECE_ROWS = Math.ceil(200_000 / scale);
const SORTED_ROWS = Math.ceil(4_000_000 / scale);
const REQUESTS = options.quick ? 100 : 1000;

const CURL = 'load asked by curl';
const NODE = 'load asked by Node';
const CALM = 'without load';

const service = await Service.start();
const raw = new RawSide(service.url, ADMIN_KEY);
try {
  await createTables();
  const latencies = await measureAll();
  const rows = [CURL, NODE].flatMap((load) => [
    row('p50 of DescribeTable', '≤ 2', load, latencies, ({ p50 }) => p50),
    row('p99 of DescribeTable', '≤ 10', load, latencies, ({ p99 }) => p99),
  ]);
  printResult('busy', await notes(), rows);
} finally {
  raw.close();
  await service.stop();
}

async function createTables(): Promise<void> {
  await raw.create('small', rowsFrom(0, 10));
  await raw.create('wide', rowsFrom(0, PIECE_ROWS));
  for (let first = PIECE_ROWS; first < WIDE_ROWS; first += PIECE_ROWS) {
    await raw.append('wide', rowsFrom(first, PIECE_ROWS));
  }
  await raw.create('sorted', sortableRows(SORTED_ROWS));
}

/** What was measured in each round, by the load that there was. */
type Latencies = ReadonlyMap<string, Latency[]>;

async function measureAll(): Promise<Latencies> {
  const loads: readonly [string, () => Promise<Latency>][] = [
    [CURL, () => loaded(askCurl)],
    [CALM, measured],
    [NODE, () => loaded(askNode)],
  ];
  await measured();
  const latencies = new Map<string, Latency[]>(loads.map(([name]) => [name, []]));
  for (let round = 0; round < options.rounds; round++) {
    for (const [name, measure] of round % 2 === 0 ? loads : loads.toReversed()) {
      latencies.get(name)!.push(await measure());
    }
  }
  return latencies;
}

async function loaded(ask: Asker): Promise<Latency> {
  const sorted = { order_by: [{ column_name: 'value', ascending: true }] };
  const work = [background(ask, 'wide', {}), background(ask, 'sorted', sorted)];
  for (const each of work) each.start();
  const latency = await measured();
  for (const each of work) await each.stop();
  return latency;
}

function background(ask: Asker, table: string, query: object): Background {
  return new Background(ask, {
    url: `${service.url}/v1/table/${table}/query`,
    key: ADMIN_KEY,
    query,
  });
}

async function measured(): Promise<Latency> {
  const url = `${service.url}/v1/table/small/describe`;
  const script = new URL('./busy/measure.ts', import.meta.url).pathname;
  const args = ['--import', 'tsx', script, url, ADMIN_KEY, String(REQUESTS)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as Latency;
}

function row(
  work: string,
  target: string,
  load: string,
  latencies: Latencies,
  value: (latency: Latency) => number,
): Row {
  const valuesOf = (name: string) => latencies.get(name)!.map(value);
  const samples = [
    { name: 'under load', values: valuesOf(load) },
    { name: CALM, values: valuesOf(CALM) },
  ];
  return { work: `${work}, ${load}`, unit: 'ms', samples, target };
}

async function notes(): Promise<readonly string[]> {
  const status = await readFile(`/proc/${service.pid}/status`, 'utf8');
  const peak = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
  return [
    `DescribeTable of a small table, ${REQUESTS} requests a round from a process of its own, without load`,
    `and while one client scans ${WIDE_ROWS.toLocaleString('en-US')} rows and another sorts`,
    `${SORTED_ROWS.toLocaleString('en-US')} rows of (int64, float64, utf8), over and over: two processes of curl, or`,
    'the process of the benchmark, whose collector of garbage then takes one of the two cores for',
    `itself. All share the machine's cores. The service took ${peak.toFixed(0)} MiB of memory at most, all of it included.`,
  ];
}
