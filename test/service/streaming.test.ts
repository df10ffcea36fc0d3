import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitUntil } from '../support/eventually.ts';
import { Service } from '../support/service.ts';
import { filesUnder } from './files.ts';
import { open, send } from './http.ts';
import { WIDE_ROW_BYTES, wideStream } from './wide-rows.ts';

const BATCHES = 25;
const ROWS = Math.ceil((4 * 2 ** 20) / WIDE_ROW_BYTES);

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

const tables = () => join(service.data, 'tables');

/** Bytes of all data files of all tables. */
async function dataBytes(): Promise<number> {
  const files = await filesUnder(tables());
  const data = files.filter(({ path }) => /^[^/]+\/data\/[^/]+\.arrow$/.test(path));
  return data.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Hands on the schema and the first batch, and the rest only when it is let go. */
async function* held(letGo: Promise<void>): AsyncGenerator<Uint8Array> {
  let piece = 0;
  for await (const bytes of wideStream({ batches: BATCHES, rowsPerBatch: ROWS })) {
    if (piece++ === 2) await letGo;
    yield bytes;
  }
}

async function countOf(table: string): Promise<number> {
  return Number((await send(service.url, `GET /v1/table/${table}/count_rows`)).text);
}

describe('an upload of 100 MiB', () => {
  it.each([
    { what: 'a new table', target: 'made/create', before: 404 },
    { what: 'a table that is there', target: 'there/insert', before: 200 },
  ])('is on disk batch by batch: $what', async ({ target, before }) => {
    const table = target.split('/')[0]!;
    if (before === 200) {
      const body = wideStream({ batches: 0, rowsPerBatch: 1 });
      await send(service.url, `POST /v1/table/${table}/create`, { body });
    }
    const bytes = await dataBytes();
    let letGo: () => void = () => undefined;
    const body = held(new Promise((resolve) => (letGo = resolve)));
    const answer = send(service.url, `POST /v1/table/${target}`, { body });
    await waitUntil(async () => (await dataBytes()) - bytes >= ROWS * WIDE_ROW_BYTES);

    // Nobody sees rows that are not committed.
    expect((await send(service.url, `POST /v1/table/${table}/exists`)).status).toBe(before);
    if (before === 200) expect(await countOf(table)).toBe(0);

    letGo();
    expect((await answer).status).toBe(200);
    expect(await countOf(table)).toBe(BATCHES * ROWS);
  });

  it('leaves nothing behind when the client goes away in the middle', async () => {
    const before = await filesUnder(tables());
    const bytes = await dataBytes();
    const gone = new AbortController();
    const body = held(new Promise(() => undefined));
    const answer = open(service.url, 'POST /v1/table/there/insert', { body, signal: gone.signal });
    await waitUntil(async () => (await dataBytes()) > bytes);
    gone.abort();
    await expect(answer).rejects.toThrow('aborted');
    await waitUntil(async () => (await filesUnder(tables())).length === before.length);
    expect(await filesUnder(tables())).toEqual(before);
    expect(await countOf('there')).toBe(BATCHES * ROWS);
  });
});

describe('a scan', () => {
  it('ends in the middle when the client goes away, and the table is read again', async () => {
    const answer = await open(service.url, 'POST /v1/table/there/query', {
      body: { k: 1e9, vector: [] },
    });
    await once(answer, 'readable');
    answer.destroy();
    await waitUntil(async () => {
      const outcomes = (await service.audit()).filter((record) => record['phase'] === 'outcome');
      return outcomes.some(
        (record) => record['operation'] === 'QueryTable' && record['status'] === 499,
      );
    });
    expect(await countOf('there')).toBe(BATCHES * ROWS);
  });
});
