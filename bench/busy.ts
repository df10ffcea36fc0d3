// How late DescribeTable is while somebody scans a gibibyte and somebody sorts four million rows.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { ADMIN_KEY, Service } from '../test/support/service.ts';
import { Background } from './busy/background.ts';
import { sortableRows } from './busy/rows.ts';
import { RawSide } from './data/raw-side.ts';
import { rowsFrom } from './data/rows.ts';
import { readOptions } from './harness/options.ts';
import type { Samples } from './harness/rounds.ts';
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

const service = await Service.start();
const raw = new RawSide(service.url, ADMIN_KEY);
try {
  await createTables();
  const { calm, busy } = await measureAll();
  printResult('busy', await notes(), [
    row('p50 of DescribeTable', '≤ 2', calm, busy, ({ p50 }) => p50),
    row('p99 of DescribeTable', '≤ 10', calm, busy, ({ p99 }) => p99),
  ]);
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

async function measureAll(): Promise<{ calm: readonly Latency[]; busy: readonly Latency[] }> {
  const calm: Latency[] = [];
  const busy: Latency[] = [];
  await measured();
  for (let round = 0; round < options.rounds; round++) {
    const measures = [
      async () => calm.push(await measured()),
      async () => busy.push(await loaded()),
    ];
    for (const measure of round % 2 === 0 ? measures : measures.toReversed()) await measure();
  }
  return { calm, busy };
}

async function loaded(): Promise<Latency> {
  const work = [
    new Background(`${service.url}/v1/table/wide/query`, ADMIN_KEY, {}),
    new Background(`${service.url}/v1/table/sorted/query`, ADMIN_KEY, {
      order_by: [{ column_name: 'value', ascending: true }],
    }),
  ];
  for (const each of work) each.start();
  const latency = await measured();
  for (const each of work) await each.stop();
  return latency;
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
  calm: readonly Latency[],
  busy: readonly Latency[],
  value: (latency: Latency) => number,
): Row {
  const samples: readonly Samples[] = [
    { name: 'under load', values: busy.map(value) },
    { name: 'without load', values: calm.map(value) },
  ];
  return { work, unit: 'ms', samples, target };
}

async function notes(): Promise<readonly string[]> {
  const status = await readFile(`/proc/${service.pid}/status`, 'utf8');
  const peak = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
  return [
    `DescribeTable of a small table, ${REQUESTS} requests a round from a process of its own, without load`,
    `and while one client scans ${WIDE_ROWS.toLocaleString('en-US')} rows and another sorts`,
    `${SORTED_ROWS.toLocaleString('en-US')} rows of (int64, float64, utf8), over and over. All share the`,
    `machine's cores. The service took ${peak.toFixed(0)} MiB of memory at most, all of it included.`,
  ];
}
