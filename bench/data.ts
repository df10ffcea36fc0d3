// Rows in and out: the project over HTTP against LanceDB embedded in the client's process.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ADMIN_KEY, Service } from '../test/support/service.ts';
import { lanceClient, lanceEmbedded } from './data/lance-side.ts';
import { OneThreadSide } from './data/one-thread-side.ts';
import { RawSide } from './data/raw-side.ts';
import { changeQuestions } from './data/changes.ts';
import { appendGrowth, grownQuestion } from './data/growth.ts';
import { readQuestions } from './data/reads.ts';
import { rowsFrom } from './data/rows.ts';
import { writeQuestions } from './data/writes.ts';
import { readOptions } from './harness/options.ts';
import { measureRounds } from './harness/rounds.ts';
import { printResult, type Row } from './harness/table.ts';

const TABLE = 'rows';

const options = readOptions();
const rows = rowsFrom(0, options.quick ? 40_000 : 400_000);
const folder = await mkdtemp(join(tmpdir(), 'arrowgate-bench-'));
const service = await Service.start();
const raw = new RawSide(service.url, ADMIN_KEY);
const oneThread = new OneThreadSide(service.url, ADMIN_KEY);
try {
  printResult('data', notes(), await answers());
} finally {
  raw.close();
  oneThread.close();
  await service.stop();
  await rm(folder, { recursive: true });
}

async function answers(): Promise<readonly Row[]> {
  const embedded = await lanceEmbedded(folder);
  const client = await lanceClient(service.url, ADMIN_KEY);
  for (const side of [raw, embedded]) await side.create(TABLE, rows);
  const results: Row[] = [];
  const questions = [
    ...writeQuestions(rows),
    grownQuestion(options.quick ? 20 : 300),
    ...changeQuestions(rows),
    ...readQuestions(TABLE, rows),
  ];
  for (const question of questions) {
    const tables = [
      raw,
      embedded,
      ...(question.client ? [client] : []),
      ...(question.oneThread === true ? [oneThread] : []),
    ];
    const sides = tables.map((side) => ({
      name: side.name,
      warmups: question.warmups ?? 1,
      measure: () => question.measure(side),
    }));
    const samples = await measureRounds(sides, options.rounds);
    results.push({ work: question.work, unit: 'ms', samples, target: question.target });
  }
  const times = options.quick ? { early: 20, all: 100 } : { early: 100, all: 1000 };
  results.push(await appendGrowth(raw, options.rounds, times));
  return results;
}

function notes(): readonly string[] {
  const count = rows.numRows.toLocaleString('en-US');
  return [
    `A table of ${count} rows of (int64, utf8, float64, 128 × float32). The project is asked over`,
    'HTTP by node:http, and its writes are on stable storage when it answers; LanceDB runs in the',
    "asking process and leaves its writes to the system. The third side is LanceDB's client of",
    'remote catalogs, which compresses what it sends, asking the project. Every answer ends as an',
    'Arrow table in memory; that of a scan of everything is received by a thread of the client, as',
    'LanceDB reads on threads of its own, and also by a client of one thread. Ratios are those of',
    'the project to the side of the line.',
  ];
}
