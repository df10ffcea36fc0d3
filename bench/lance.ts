// Rows of Lance tables: the project over HTTP against LanceDB embedded in the client's process.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ADMIN_KEY, Service } from '../test/support/service.ts';
import { askCurl, Background } from './busy/background.ts';
import { changeQuestions } from './data/changes.ts';
import { lanceEmbedded } from './data/lance-side.ts';
import { grownQuestion } from './data/growth.ts';
import type { DataQuestion } from './data/question.ts';
import { RawSide } from './data/raw-side.ts';
import { readQuestions } from './data/reads.ts';
import { rowsFrom } from './data/rows.ts';
import { writeQuestions } from './data/writes.ts';
import { peer } from './harness/lancedb-peer.ts';
import { readOptions } from './harness/options.ts';
import { measureRounds, type Side } from './harness/rounds.ts';
import { printResult, type Row } from './harness/table.ts';
import { LANCE_SIDE } from './lance/lance-table-side.ts';
import { processorTime } from './harness/processor-time.ts';
import { MeteredSide } from './lance/metered-side.ts';

const TABLE = 'rows';
const SMALL_TABLE = 'small';
const READ_TARGET = '≤ 1.30 + 2 ms';
const WRITE_TARGET = '≤ 1.50 + 5 ms';
const SCAN_TARGET = '≤ 1.43';

const options = readOptions();
const requests = options.quick ? 200 : 1000;
const rows = rowsFrom(0, options.quick ? 40_000 : 400_000);
const folder = await mkdtemp(join(tmpdir(), 'arrowgate-bench-'));
const service = await Service.start({ config: 'tables: { format: lance }\n' });
const served = new RawSide(service.url, ADMIN_KEY, LANCE_SIDE);
try {
  printResult('lance', notes(), [...(await answers()), await describeBesideScan()]);
} finally {
  served.close();
  await service.stop();
  await rm(folder, { recursive: true });
}

async function answers(): Promise<readonly Row[]> {
  const grown = grownQuestion(options.quick ? 20 : 300);
  const sides = [
    new MeteredSide(served, () => processorTime(service.pid)),
    new MeteredSide(await lanceEmbedded(folder), () => 0),
  ];
  for (const side of sides) await side.create(TABLE, rows);
  const results: Row[] = [];
  for (const [target, questions] of [
    [WRITE_TARGET, [...writeQuestions(rows), grown, ...changeQuestions(rows)]],
    [READ_TARGET, readQuestions(TABLE, rows)],
  ] as const) {
    for (const question of questions) results.push(...(await answer(sides, question, target)));
  }
  return results;
}

/** Wall time and processor time of a question. */
async function answer(
  tables: readonly MeteredSide[],
  question: DataQuestion,
  target: string,
): Promise<readonly Row[]> {
  const { work, warmups = 1 } = question;
  const spent = new Map<MeteredSide, number[]>(tables.map((table) => [table, []]));
  const sides: readonly Side[] = tables.map((table) => ({
    name: table.name,
    warmups,
    measure: async () => {
      const millis = await question.measure(table);
      spent.get(table)!.push(table.perCall());
      return millis;
    },
  }));
  const samples = await measureRounds(sides, options.rounds);
  const processor = tables.map((table) => ({
    name: table.name,
    values: spent.get(table)!.slice(warmups),
  }));
  const isScan = work.startsWith('scan');
  // The table of the others is made before they are measured.
  const isMetered = !work.startsWith('create');
  const wall: Row = { work, unit: 'ms', samples, target: isScan ? SCAN_TARGET : target };
  const spentRow: Row = { work: `${work}, processor time`, unit: 'ms', samples: processor };
  return isMetered ? [wall, spentRow] : [wall];
}

async function describeBesideScan(): Promise<Row> {
  await served.create(SMALL_TABLE, rowsFrom(0, 10));
  const url = `${service.url}/v1/table/${TABLE}/query`;
  const scan = new Background(askCurl, { url, key: ADMIN_KEY, query: { vector: [], k: -1 } });
  const beside = async (): Promise<number> => {
    scan.start();
    const p99 = await describeP99();
    await scan.stop();
    return p99;
  };
  const sides = [
    { name: 'beside a scan', measure: beside },
    { name: 'alone', measure: describeP99 },
  ];
  const samples = await measureRounds(sides, options.rounds);
  return { work: 'p99 of DescribeTable', unit: 'ms', samples, target: '≤ 3' };
}

async function describeP99(): Promise<number> {
  const url = `${service.url}/v1/table/${SMALL_TABLE}/describe`;
  const script = new URL('./busy/measure.ts', import.meta.url).pathname;
  const args = ['--import', 'tsx', script, url, ADMIN_KEY, String(requests)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return (JSON.parse(stdout) as { readonly p99: number }).p99;
}

function notes(): readonly string[] {
  const count = rows.numRows.toLocaleString('en-US');
  return [
    `A Lance table of ${count} rows of (int64, utf8, float64, 128 × float32). The project is asked over HTTP`,
    'by node:http; its library processes and the process of the benchmark have the same LanceDB,',
    `${peer.version.version}. Changes are on stable storage when the project answers; LanceDB embedded leaves them to`,
    'the system. Every answer ends as an Arrow table in memory. Processor time is that of the client, the',
    'gateway and its library process together, for one request.',
  ];
}
