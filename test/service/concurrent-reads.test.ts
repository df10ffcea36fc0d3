import { setTimeout as sleep } from 'node:timers/promises';
import { RecordBatchStreamWriter, tableFromIPC, type Table } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Service } from '../support/service.ts';
import { open, send } from './http.ts';
import { randomOf, type Random } from './random.ts';
import { wideBatch, wideSchema } from './wide-rows.ts';

/* Reads share memory that is used again: none may ever see the rows of another. */

const TABLES = 3;
const ROWS = 12_000;
/** Ids of one table lie far from those of the others. */
const SPACE = 1_000_000;

let service: Service;

beforeAll(async () => {
  service = await Service.start({ config: 'limits: { scans: null }\n' });
  for (let table = 0; table < TABLES; table++) {
    await post(`t${table}/create`, rowsFrom(table * SPACE, ROWS / 2));
    await post(`t${table}/insert`, rowsFrom(table * SPACE + ROWS / 2, ROWS / 2));
  }
  await post('t1/delete', { predicate: 'id % 5 = 0' });
  await post('t2/update', { updates: [['value', 'value + 0.0']], predicate: 'id % 3 = 0' });
});

afterAll(() => service.stop());

describe('many reads at once', () => {
  it('each see the rows of their own table, slow ones and those that leave too', async () => {
    const seed = Number(process.env['ARROWGATE_TEST_SEED'] ?? Date.now() % 2 ** 31);
    process.stdout.write(`seed of concurrent reads: ${seed}\n`);
    const random = randomOf(seed);
    const readers = Array.from({ length: 24 }, async () => {
      for (let round = 0; round < 12; round++) await readOnce(random);
    });
    await Promise.all(readers);
  });
});

const queries: readonly object[] = [
  {},
  { columns: ['name', 'id', 'value'] },
  { filter: 'id % 7 = 3' },
  { filter: 'value >= 0', offset: 700, k: 4000 },
  { columns: { id: 'id', name: 'name', value: 'value', twice: 'value * 2' } },
  { order_by: [{ column_name: 'value', ascending: false, nulls_first: false }], k: 3000 },
  { vector: Array.from({ length: 100 }, () => 1.5), k: 500, vector_column: 'vector' },
];

async function readOnce(random: Random): Promise<void> {
  const table = random(TABLES);
  const query = queries[random(queries.length)];
  const answer = await open(service.url, `POST /v1/table/t${table}/query`, {
    body: { vector: [], ...query },
  });
  expect(answer.statusCode).toBe(200);
  const pause = random(10) < 3 ? 2 : 0;
  const leaves = random(4) === 0;
  const chunks: Buffer[] = [];
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    // Leaving the loop cuts the connection.
    if (leaves && chunks.length === 5) return;
    if (pause > 0) await sleep(pause);
  }
  checkRows(tableFromIPC(Buffer.concat(chunks)), table);
}

/** Each row says in three columns which one it is. */
function checkRows(found: Table, table: number): void {
  const [ids, names, values] = ['id', 'name', 'value'].map((name) => found.getChild(name)!);
  let wrong = 0;
  for (let row = 0; row < found.numRows; row++) {
    const id: bigint = ids!.get(row);
    const own = id >= BigInt(table * SPACE) && id < BigInt(table * SPACE + ROWS);
    const same =
      String(names!.get(row)).startsWith(`row ${id} `) && values!.get(row) === Number(id);
    if (!own || !same) wrong++;
  }
  expect(wrong).toBe(0);
}

function rowsFrom(first: number, rows: number): Uint8Array {
  const writer = new RecordBatchStreamWriter();
  writer.reset(undefined, wideSchema);
  for (let start = 0; start < rows; start += 1500) {
    writer.write(wideBatch(BigInt(first + start), Math.min(1500, rows - start)));
  }
  return writer.finish().toUint8Array(true);
}

async function post(path: string, body: Uint8Array | object): Promise<void> {
  const reply = await send(service.url, `POST /v1/table/${path}`, { body });
  expect([reply.status, reply.text.slice(0, 200)]).toEqual([200, expect.any(String)]);
}
