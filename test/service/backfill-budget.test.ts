import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Service } from '../support/service.ts';
import { LANCEDB, send, sendGranted } from './http.ts';
import { goodRows } from './table-bodies.ts';

/* A backfill may hold as much memory as the budget of the caller who asked for it. */

const POLICY = `p, role:admin, /**, *, allow
g, user:admin, role:admin
p, user:small, /t, modify, allow
`;
const LIMITS = `limits:
  - { name: small, subjects: ['user:small'], budget: { memory: 1MiB } }
`;

let service: Service;

beforeAll(async () => {
  service = await Service.start({ policy: POLICY, limits: LIMITS });
  await sendGranted(service.url, 'POST /v1/table/t/create', { body: goodRows });
  const new_columns = [{ name: 'much', computed: "length(repeat('long', 500000 + 0 * id))" }];
  await sendGranted(service.url, 'POST /v1/table/t/add_columns/', {
    body: { new_columns },
    headers: LANCEDB,
  });
});

afterAll(() => service.stop());

/** Backfills the column as a caller; the transaction of the job once it has ended. */
async function backfilled(key?: string): Promise<Record<string, unknown>> {
  const begun = await send(service.url, 'POST /v1/table/t/backfill_column', {
    body: { column: 'much' },
    headers: LANCEDB,
    ...(key !== undefined && { key }),
  });
  expect(begun.status).toBe(202);
  const line = `POST /v1/transaction/${String(begun.json['job_id'])}/describe`;
  for (;;) {
    const { json } = await sendGranted(service.url, line);
    if (json['status'] !== 'QUEUED' && json['status'] !== 'RUNNING') return json;
  }
}

async function filled(): Promise<string> {
  const body = { predicate: 'much is not null' };
  return (await sendGranted(service.url, 'POST /v1/table/t/count_rows', { body })).text;
}

describe('the memory of a backfill', () => {
  it('is that of the limit of its caller: beyond it the job fails, and nothing is changed', async () => {
    expect(await backfilled(await service.key('small'))).toMatchObject({
      status: 'FAILED',
      properties: {
        'job.failure':
          'The request needs more than 1 MiB of memory (budget.memory): ask for less, or for fewer rows at once',
      },
    });
    expect(await filled()).toBe('0');
  });

  it('is that of the configuration for other callers', async () => {
    expect(await backfilled()).toMatchObject({ status: 'SUCCEEDED' });
    expect(await filled()).toBe('3');
  });
});
