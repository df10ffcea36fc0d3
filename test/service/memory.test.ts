import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RecordBatchReader, type RecordBatch } from 'apache-arrow';
import { afterEach, describe, expect, it } from 'vitest';
import { Service } from '../support/service.ts';
import { bytesUnder } from './files.ts';
import { open, send } from './http.ts';
import { nameAt, sortableStream } from './sortable-rows.ts';
import { WIDE_ROW_BYTES, wideBatch, wideStream } from './wide-rows.ts';
import { casesOf } from '../support/cases.ts';

const MIB = 2 ** 20;
/** What the process may take at most, whatever passes through it. */
const MOST_MIB = 600;
/** What passes through it as one table: more than it may take. */
const GIB = casesOf(1, 2);
/** Batches of the texts that are sorted, of 50,000 rows each. */
const TEXT_BATCHES = casesOf(40, 80);

/** The most memory that a process has had, in MiB. */
async function peakOf(service: Service): Promise<number> {
  const status = await readFile(`/proc/${service.pid}/status`, 'utf8');
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  return Number(kib) / 1024;
}

/** The batches of an answer while it arrives. The file format is a stream between a magic and a footer. */
async function* batchesOf(answer: IncomingMessage): AsyncGenerator<RecordBatch> {
  const stream = async function* (): AsyncGenerator<Uint8Array> {
    let magic = 8;
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      if (chunk.length > magic) yield chunk.subarray(magic);
      magic = Math.max(0, magic - chunk.length);
    }
  };
  const reader = await RecordBatchReader.from(stream());
  yield* reader as AsyncIterable<RecordBatch>;
}

/** The bytes of a column without nulls, of fixed width or of texts. */
function bytesOf(batch: RecordBatch, name: string): Buffer {
  const data = batch.getChild(name)!.data[0]!;
  const values: Uint8Array = (data.children[0] ?? data).values;
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength);
}

/** Checks every byte of a batch: its ids follow one another, the rest repeats with each batch that was sent. */
function checkRows(batch: RecordBatch, first: number, sent: RecordBatch): void {
  const ids: BigInt64Array = batch.getChild('id')!.data[0]!.values;
  expect(ids.length).toBe(batch.numRows);
  expect(ids.findIndex((id, row) => id !== BigInt(first + row))).toBe(-1);
  const start = first % sent.numRows;
  for (const name of ['name', 'value', 'vector']) {
    const [found, all] = [bytesOf(batch, name), bytesOf(sent, name)];
    const width = all.length / sent.numRows;
    expect(found.length).toBe(batch.numRows * width);
    const expected = all.subarray(start * width, (start + batch.numRows) * width);
    expect(found.equals(expected), `${name} of the rows from ${first} on`).toBe(true);
  }
}

/** Reads all rows of the table, slowly, and checks them. Answers how many there are. */
async function readSlowly(service: Service, rowsPerBatch: number, pause: number): Promise<number> {
  const answer = await open(service.url, 'POST /v1/table/wide/query', {
    body: { k: Number.MAX_SAFE_INTEGER, vector: [], prefilter: true, version: null },
  });
  expect(answer.statusCode).toBe(200);
  const sent = wideBatch(0n, rowsPerBatch);
  // Whoever does not wait for the reader would have read most of the table by then.
  await sleep(1500);
  let rows = 0;
  for await (const batch of batchesOf(answer)) {
    checkRows(batch, rows, sent);
    rows += batch.numRows;
    await sleep(pause);
  }
  return rows;
}

describe('memory', () => {
  let service: Service;
  afterEach(() => service.stop());

  async function start(cache = '64MiB'): Promise<void> {
    service = await Service.start({ config: `cache: { bytes: ${cache} }\n` });
    const empty = { batches: 0, rowsPerBatch: 1 };
    const made = await send(service.url, 'POST /v1/table/wide/create', { body: wideStream(empty) });
    expect(made.status).toBe(200);
  }

  async function insert(stream: Parameters<typeof wideStream>[0]): Promise<void> {
    const body = wideStream(stream);
    const reply = await send(service.url, 'POST /v1/table/wide/insert', { body });
    expect([reply.status, reply.text]).toEqual([200, expect.stringContaining('"version":')]);
    expect(reply.json['num_inserted_rows']).toBe(stream.batches * stream.rowsPerBatch);
  }

  it(`stays bounded while ${GIB} GiB are inserted and read again by a slow reader`, async () => {
    await start();
    const rowsPerBatch = Math.ceil((4 * MIB) / WIDE_ROW_BYTES);
    await insert({ batches: GIB * 256, rowsPerBatch });
    expect(await peakOf(service)).toBeLessThan(MOST_MIB);
    expect(await bytesUnder(join(service.data, 'tables'))).toBeGreaterThan(GIB * 1024 * MIB);
    expect(await readSlowly(service, rowsPerBatch, 5)).toBe(GIB * 256 * rowsPerBatch);
    expect(await peakOf(service)).toBeLessThan(MOST_MIB);
  });

  it('stays bounded while compressed batches are inserted', async () => {
    await start();
    const rowsPerBatch = Math.ceil((16 * MIB) / WIDE_ROW_BYTES);
    await insert({ batches: 32, rowsPerBatch, lz4: true });
    expect(await readSlowly(service, rowsPerBatch, 0)).toBe(32 * rowsPerBatch);
    expect(await peakOf(service)).toBeLessThan(MOST_MIB);
  });

  it.each([
    { kind: 'plain', lz4: false, mib: 200 },
    { kind: 'compressed', lz4: true, mib: 128 },
  ])('stays bounded with $kind batches of $mib MiB', async ({ lz4, mib }) => {
    await start();
    const rowsPerBatch = Math.ceil((mib * MIB) / WIDE_ROW_BYTES);
    await insert({ batches: 2, rowsPerBatch, lz4 });
    expect(await readSlowly(service, rowsPerBatch, 0)).toBe(2 * rowsPerBatch);
    expect(await peakOf(service)).toBeLessThan(MOST_MIB);
  });

  it('stays bounded while several times what the cache holds is searched, filtered and sorted', async () => {
    await start();
    const rowsPerBatch = Math.ceil((4 * MIB) / WIDE_ROW_BYTES);
    await insert({ batches: 80, rowsPerBatch });
    const rows = 80 * rowsPerBatch;
    const ask = async (body: object) => {
      const answer = await open(service.url, 'POST /v1/table/wide/query', { body });
      expect(answer.statusCode).toBe(200);
      let found = 0;
      for await (const batch of batchesOf(answer)) found += batch.numRows;
      return found;
    };
    const { length } = wideBatch(0n, 1).getChild('vector')!.get(0)!;
    const nearest = { vector: { single_vector: Array.from({ length }, () => 0.5) }, k: 10 };
    for (let time = 0; time < casesOf(2, 4); time++) {
      const answers = await Promise.all([
        ask({ k: rows, filter: 'id >= 0', columns: ['id', 'value'] }),
        ask({ order_by: [{ column_name: 'id', ascending: false }], columns: ['name', 'id'] }),
        ask({}),
        ask(nearest),
        ask({ ...nearest, filter: 'id % 10 = 0', prefilter: true }),
      ]);
      expect(answers).toEqual([rows, rows, rows, 10, 10]);
    }
    expect(await peakOf(service)).toBeLessThan(MOST_MIB);
  });

  it('stays within the cache and 512 MiB while texts are sorted and what fills the cache is scanned', async () => {
    await start('256MiB');
    await insert({ batches: 70, rowsPerBatch: Math.ceil((4 * MIB) / WIDE_ROW_BYTES) });
    const body = sortableStream(TEXT_BATCHES);
    const made = await send(service.url, 'POST /v1/table/texts/create', { body });
    expect(made.status).toBe(200);
    const ask = (table: string, query: object) =>
      open(service.url, `POST /v1/table/${table}/query`, { body: query });
    const scan = async () => {
      for await (const chunk of await ask('wide', {})) expect(chunk.length).toBeGreaterThan(0);
    };
    // What is asked for more than once is kept.
    for (let time = 0; time < 3; time++) await scan();
    const sort = async () => {
      let rows = 0;
      const order_by = [{ column_name: 'name', ascending: true }];
      for await (const batch of batchesOf(await ask('texts', { order_by }))) {
        const names = batch.getChild('name')!;
        expect(names.get(0)).toBe(nameAt(rows));
        rows += batch.numRows;
        expect(names.get(batch.numRows - 1)).toBe(nameAt(rows - 1));
      }
      return rows;
    };
    const sorting = new AbortController();
    const scanning = (async () => {
      while (!sorting.signal.aborted) await scan();
    })();
    expect(await sort()).toBe(TEXT_BATCHES * 50_000);
    sorting.abort();
    await scanning;
    expect(await peakOf(service)).toBeLessThan(256 + 512);
  });
});
