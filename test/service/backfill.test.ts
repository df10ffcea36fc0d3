import { Int64, makeData, Table, tableFromIPC, tableToIPC, Vector } from 'apache-arrow';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Service } from '../support/service.ts';
import { LANCEDB, send, sendGranted, type Sent } from './http.ts';

const ROWS = 200_000;
const PARTS = 4;

const POLICY = `p, role:admin, /**, *, allow
g, user:admin, role:admin
p, user:filler, /big, modify, allow
p, user:other, /other, *, allow
`;

let service: Service;

beforeAll(async () => {
  service = await Service.start({ policy: POLICY });
  for (let part = 0; part < PARTS; part++) {
    const values = BigInt64Array.from({ length: ROWS }, (_, at) => BigInt(part * ROWS + at));
    const n = new Vector([makeData({ type: new Int64(), data: values })]);
    await answer(`POST /v1/table/big/${part === 0 ? 'create' : 'insert'}`, {
      body: tableToIPC(new Table({ n }), 'stream'),
    });
  }
});

afterAll(() => service.stop());

async function answer(line: string, sent: Sent = {}): Promise<Record<string, unknown>> {
  return (await sendGranted(service.url, line, sent)).json;
}

/** Adds a computed column and begins to fill it; answers the job's id. */
async function begin(name: string): Promise<string> {
  const body = { new_columns: [{ name, computed: 'abs(n * 3 - 2) % 1000003' }] };
  await answer('POST /v1/table/big/add_columns/', { body, headers: LANCEDB });
  const begun = await send(service.url, 'POST /v1/table/big/backfill_column', {
    body: { column: name },
    headers: LANCEDB,
  });
  expect(begun.status).toBe(202);
  return String(begun.json['job_id']);
}

const describeJob = (job_id: string, key?: string) =>
  send(service.url, 'POST /v1/jobs/describe', {
    body: { job_id },
    headers: LANCEDB,
    ...(key !== undefined && { key }),
  });

async function ended(id: string): Promise<Record<string, unknown>> {
  for (;;) {
    const { json } = await describeJob(id);
    if (json['job_state'] !== 'IN_PROGRESS') return json;
    await sleep(50);
  }
}

async function versions(): Promise<number> {
  return Number((await answer('POST /v1/table/big/describe', { body: {} }))['version']);
}

/** How many rows have the value that they must have. */
async function right(column: string): Promise<number> {
  const predicate = `${column} = abs(n * 3 - 2) % 1000003`;
  const reply = await send(service.url, 'POST /v1/table/big/count_rows', { body: { predicate } });
  return Number(reply.text);
}

describe('a backfill', () => {
  it('is followed as a job and as a transaction, by those who may see its table', async () => {
    const filler = await service.key('filler');
    const other = await service.key('other');
    const id = await begin('a');
    const before = await versions();
    expect(await ended(id)).toMatchObject({ job_state: 'DONE', job_id: id, job_type: 'backfill' });
    expect(await right('a')).toBe(PARTS * ROWS);
    expect(await versions()).toBeLessThanOrEqual(before + 1);
    const line = `POST /v1/transaction/${id}/describe`;
    expect(await answer(line, { key: filler })).toMatchObject({
      status: 'SUCCEEDED',
      properties: { 'job.table': '/big', 'job.rows_done': String(PARTS * ROWS) },
    });
    expect((await send(service.url, line, { key: other })).json).toMatchObject({ code: 10 });
    expect((await describeJob(id, other)).status).toBe(404);
    const list = 'POST /v1/jobs/list';
    expect(await answer(list, { body: {}, key: other })).toEqual({ jobs: [] });
    expect(await answer(list, { body: {}, key: filler })).toMatchObject({ jobs: [{ job_id: id }] });
    const events = await send(service.url, 'POST /v1/jobs/query_events', {
      body: { job_id: id },
      key: filler,
    });
    expect(tableFromIPC(events.bytes).numRows).toBe(3);
    const cancel = { body: { job_id: id }, key: filler };
    expect((await send(service.url, 'POST /v1/jobs/cancel', cancel)).status).toBe(403);
  });

  it('goes on after the program was killed, and makes one version', async () => {
    const id = await begin('b');
    const before = await versions();
    await underWay(id);
    await service.end('SIGKILL');
    await service.restart();
    expect(await ended(id)).toMatchObject({ job_state: 'DONE' });
    expect(await right('b')).toBe(PARTS * ROWS);
    expect(await versions()).toBe(before + 1);
  });

  it('does not keep the program from stopping, and goes on when it is back', async () => {
    const id = await begin('c');
    const before = await versions();
    await underWay(id);
    expect(await service.end('SIGTERM')).toBe(0);
    await service.restart();
    expect(await ended(id)).toMatchObject({ job_state: 'DONE' });
    expect(await right('c')).toBe(PARTS * ROWS);
    expect(await versions()).toBe(before + 1);
  });
});

/** Waits until a job runs. */
async function underWay(id: string): Promise<void> {
  for (;;) {
    const { status } = await answer(`POST /v1/transaction/${id}/describe`);
    if (status === 'RUNNING') return;
    if (status !== 'QUEUED') throw new Error(`the job was ${String(status)} too soon`);
  }
}
