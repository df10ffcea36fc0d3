import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { Service } from '../support/service.ts';
import { send, sendGranted, type Reply } from './http.ts';
import { goodRows } from './table-bodies.ts';

const COMMITS = `rules:
  - { name: tickets, tables: ["/**"], operations: [modify], require: { context: [ticket] } }
`;

describe('a context in the body of a request', () => {
  let service: Service;

  beforeAll(async () => {
    service = await Service.start({ commits: COMMITS });
    await sendGranted(service.url, 'POST /v1/table/t/create', { body: goodRows });
  });

  afterAll(() => service.stop());

  const change = (id: string, context: object, headers: Readonly<Record<string, string>> = {}) =>
    send(service.url, 'POST /v1/table/t/delete', {
      body: { predicate: 'id = 99', context },
      headers: { 'x-request-id': id, ...headers },
    });

  async function outcomeOf({ headers }: Reply): Promise<unknown> {
    const records = await service.audit();
    return records.find(
      ({ phase, request_id }) => phase === 'outcome' && request_id === headers['x-request-id'],
    );
  }

  it('satisfies a rule, and is recorded as what the body said', async () => {
    const reply = await change('body-only', { Ticket: 'T-1', 'my-token': 'hush' });
    expect(reply.status).toBe(200);
    expect(await outcomeOf(reply)).toMatchObject({
      status: 200,
      context: { 'body:ticket': 'T-1', 'body:my-token': '[redacted]' },
    });
  });

  it('stands below that of the headers, and both are recorded', async () => {
    const reply = await change('both', { ticket: 'T-2' }, { 'x-service-ctx-ticket': 'T-3' });
    expect(reply.status).toBe(200);
    expect(await outcomeOf(reply)).toMatchObject({
      context: { ticket: 'T-3', 'body:ticket': 'T-2' },
    });
  });

  it('is recorded of a request that a rule refuses, too', async () => {
    const reply = await change('refused', { reason: 'none' });
    expect([reply.status, reply.json['code']]).toEqual([400, 20]);
    expect(await outcomeOf(reply)).toMatchObject({
      status: 400,
      context: { 'body:reason': 'none' },
    });
  });

  it('is refused beyond 16 KiB, and nothing changes', async () => {
    const reply = await change('long', { ticket: 'x'.repeat(16 * 1024) });
    expect([reply.status, reply.json]).toMatchObject([
      400,
      { code: 13, error: 'context may have at most 16384 bytes' },
    ]);
  });

  it('is recorded of each of two reads that are alike', async () => {
    const ask = (id: string) =>
      send(service.url, 'POST /v1/table/t/count_rows', {
        body: { context: { purpose: 'report' } },
        headers: { 'x-request-id': id },
      });
    for (const id of ['read-1', 'read-2']) {
      const reply = await ask(id);
      await eventually(async () => {
        expect(await outcomeOf(reply)).toMatchObject({
          status: 200,
          context: { 'body:purpose': 'report' },
        });
      });
    }
  });

  it('may not be said in two ways by the headers', async () => {
    const reply = await change(
      'twice',
      {},
      { 'x-service-ctx-ticket': 'T-1', 'x-lance-ctx-ticket': 'T-2' },
    );
    expect([reply.status, reply.json]).toMatchObject([
      400,
      {
        code: 13,
        error:
          'the headers x-service-ctx-ticket and x-lance-ctx-ticket have different values; send one of them',
      },
    ]);
  });
});
