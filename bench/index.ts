// Indices: built and asked, the project over HTTP against LanceDB embedded in the client's process.
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { ADMIN_KEY, Service } from '../test/support/service.ts';
import { RawSide } from './data/raw-side.ts';
import { peer } from './harness/lancedb-peer.ts';
import { readOptions } from './harness/options.ts';
import { printResult, type Row } from './harness/table.ts';
import type { IndexQuestions } from './index/question.ts';
import { scalarIndexQuestions } from './index/scalar.ts';
import { textIndexQuestions } from './index/text.ts';
import { vectorIndexQuestions } from './index/vector.ts';

/** One of each kind of index; each is a file of its own. */
const kinds: readonly IndexQuestions[] = [
  vectorIndexQuestions,
  scalarIndexQuestions,
  textIndexQuestions,
];

// With a thread for each of two cores, LanceDB 0.31 waits for itself when it indexes many texts.
process.env['LANCE_CPU_THREADS'] ??= String(Math.max(4, availableParallelism()));

const options = readOptions();
const folder = await mkdtemp(join(tmpdir(), 'arrowgate-bench-'));
const service = await Service.start();
const raw = new RawSide(service.url, ADMIN_KEY);
try {
  const embedded = await peer.lancedb.connect(folder);
  const rows: Row[] = [];
  for (const { measure } of kinds) rows.push(...(await measure({ raw, embedded, options })));
  const notes = kinds.flatMap((kind) => kind.notes);
  printResult('index', notes, rows);
} finally {
  raw.close();
  await service.stop();
  await rm(folder, { recursive: true });
}
