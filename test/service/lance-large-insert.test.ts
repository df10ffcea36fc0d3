import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { arrow } from '../clients/lancedb.ts';
import { waitUntil } from '../support/eventually.ts';
import { childrenOf, signalAll } from '../support/processes.ts';
import { Service } from '../support/service.ts';
import { send, type Reply } from './http.ts';

/** Bodies of inserts into Lance tables lie on the disk and not in the memory of the gateway. */

const MEBIBYTE = 2 ** 20;

const CONFIG = `tables: { format: lance }
lance: { memory: 512MiB }
budget: { memory: 32MiB }
`;

let service: Service;

beforeAll(async () => {
  service = await Service.start({ config: CONFIG });
});

afterAll(() => service.stop());

/** Rows of 4 KiB each, in batches of 1 MiB. */
function streamOf(mebibytes: number): Uint8Array {
  const { Field, FixedSizeList, Float32, Schema, Struct } = arrow;
  const item = new Field('item', new Float32(), true);
  const field = new Field('v', new FixedSizeList(1024, item), true);
  const schema = new Schema([field]);
  const writer = new arrow.RecordBatchStreamWriter();
  writer.reset(undefined, schema);
  const values = Float32Array.from({ length: MEBIBYTE / 4 }, (_, at) => at);
  const numbers = arrow.makeData({ type: new Float32(), data: values });
  const list = arrow.makeData({ type: field.type, length: 256, child: numbers });
  const data = arrow.makeData({ type: new Struct(schema.fields), length: 256, children: [list] });
  const batch = new arrow.RecordBatch(schema, data);
  for (let written = 0; written < mebibytes; written++) writer.write(batch);
  return writer.finish().toUint8Array(true);
}

function ask(name: string, action: string, body: Uint8Array | object = {}): Promise<Reply> {
  return send(service.url, `POST /v1/table/${name}/${action}`, { body });
}

async function rowsIn(name: string): Promise<number> {
  return Number((await ask(name, 'count_rows')).text);
}

/** The most memory that the gateway has held since the last call, in bytes. */
async function peak(): Promise<number> {
  const status = await readFile(`/proc/${service.pid}/status`, 'utf8');
  await writeFile(`/proc/${service.pid}/clear_refs`, '5');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

describe('a large body', () => {
  it('is not held by the gateway, and is beyond budget.memory', async () => {
    const body = streamOf(160);
    await ask('large', 'create', streamOf(1));
    expect((await ask('large', 'insert', streamOf(40))).status).toBe(200);
    await peak();
    const before = await peak();
    const { status, json } = await ask('large', 'insert', body);
    expect([status, json['num_inserted_rows']]).toEqual([200, 160 * 256]);
    expect((await peak()) - before).toBeLessThan(96 * MEBIBYTE);
    expect(await rowsIn('large')).toBe(201 * 256);
    expect(await readdir(join(service.data, 'tables'))).toEqual([]);
  });

  it('creates a table, and takes the place of its rows', async () => {
    expect((await ask('whole', 'create', streamOf(64))).status).toBe(200);
    expect((await ask('whole', 'insert?mode=overwrite', streamOf(48))).status).toBe(200);
    expect(await rowsIn('whole')).toBe(48 * 256);
  });

  it('is sent again to another process of the library when one ends', async () => {
    await ask('killed', 'create', streamOf(1));
    const reply = ask('killed', 'insert', streamOf(64));
    const before = await childrenOf(service.pid);
    await new Promise((resolve) => setTimeout(resolve, 400));
    signalAll(before, 'SIGKILL');
    expect((await reply).status).toBe(200);
    expect(await rowsIn('killed')).toBe(65 * 256);
  });

  it('of several requests waits for its turn', async () => {
    await ask('several', 'create', streamOf(1));
    const body = streamOf(80);
    const replies = await Promise.all([1, 2, 3, 4].map(() => ask('several', 'insert', body)));
    // On a busy machine the wait may end.
    const told = replies.map(({ status, text }) => (status === 200 ? '' : text));
    for (const text of told.filter((each) => each !== ''))
      expect(text).toContain('the Lance library is busy with other requests');
    const written = told.filter((each) => each === '').length;
    expect(written).toBeGreaterThan(0);
    expect(await rowsIn('several')).toBe((1 + 80 * written) * 256);
  });

  it('that the library cannot take is refused, and leaves nothing', async () => {
    await ask('refused', 'create', streamOf(1));
    const merge = 'merge_insert?on=v&when_not_matched_insert_all=true';
    const { status, json } = await ask('refused', merge, streamOf(260));
    expect([status, json['code'], json['error']]).toEqual([
      400,
      13,
      `the rows of the merge take more than ${128 * MEBIBYTE} bytes, a third of lance.memory without 128 MiB, and the Lance library takes them at once: send them in several merges with different keys, or raise lance.memory`,
    ]);
    expect(await rowsIn('refused')).toBe(256);
    await waitUntil(async () => (await readdir(join(service.data, 'tables'))).length === 0);
  });
});
