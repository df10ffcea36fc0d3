import { afterEach, describe, expect, it } from 'vitest';
import { RequestMemory } from '../../src/engine/format/memory/request-memory.ts';
import { defaultBudget, type RequestBudget } from '../../src/protocol/budget.ts';
import type { ByteStream } from '../../src/protocol/backend.ts';
import { admin, ask, json, start, type Harness } from './harness.ts';

let harness: Harness;

afterEach(() => harness.close());

/** Bytes that come in pieces. */
function stream(pieces: readonly Uint8Array[], length?: number): ByteStream {
  return {
    async *[Symbol.asyncIterator]() {
      yield* pieces;
    },
    length,
  };
}

async function budgetUnder(limits: string): Promise<RequestBudget> {
  let budget: RequestBudget | undefined;
  harness = await start({
    limits,
    handle: (request) => {
      ({ budget } = request);
      return { status: 200, contentType: 'application/json', body: '{}' };
    },
  });
  await ask(harness, '/v1/table/prod$t/query', { headers: admin, body: '{}' });
  return budget!;
}

describe('the budget of a request', () => {
  it('is that of the configuration without a limit', async () => {
    expect((await budgetUnder('limits: []')).limits).toEqual(defaultBudget);
  });

  it('is the smallest of the limits that match its caller and its table', async () => {
    const { limits } = await budgetUnder(`limits:
  - { name: a, objects: ['/prod/**'], budget: { time: 5s, memory: 2GiB } }
  - { name: b, subjects: ['user:admin'], budget: { time: 7s, memory: 1GiB } }
  - { name: c, subjects: ['user:alice'], budget: { time: 1s } }
  - { name: d, objects: ['/test/**'], budget: { rows: 1 } }
  - { name: e, rate: 1/s }
`);
    expect(limits).toEqual({ ...defaultBudget, time: 5000, memory: 2 ** 30 });
  });

  it.each([
    ['a text', () => 'x'.repeat(1025)],
    ['bytes whose length is known', () => stream([new Uint8Array(10)], 1025)],
    ['bytes whose first piece is too long', () => stream([new Uint8Array(1025)])],
  ] as const)('refuses an answer that is too long before its first byte: %s', async (_, body) => {
    harness = await start({
      limits: 'limits: [{ name: a, budget: { result: 1KiB } }]',
      handle: () => ({ status: 200, body: body() }),
    });
    const reply = await ask(harness, '/v1/table/prod$t/query', { headers: admin, body: '{}' });
    expect([reply.status, json(reply)['code']]).toEqual([400, 13]);
    expect(json(reply)['error']).toBe(
      'The answer has more than 1 KiB (budget.result): ask for fewer rows or columns',
    );
    expect(reply.headers['x-arrowgate-decision']).toBe('allow');
  });

  it('cuts the connection where a later piece is too long', async () => {
    harness = await start({
      limits: 'limits: [{ name: a, budget: { result: 1KiB } }]',
      handle: () => ({ status: 200, body: stream([new Uint8Array(1000), new Uint8Array(1000)]) }),
    });
    const answer = ask(harness, '/v1/table/prod$t/query', { headers: admin, body: '{}' });
    await expect(answer).rejects.toThrow();
  });

  it('lets an answer within it pass', async () => {
    harness = await start({
      limits: 'limits: [{ name: a, budget: { result: 1KiB } }]',
      handle: () => ({ status: 200, body: stream([new Uint8Array(1000), new Uint8Array(24)]) }),
    });
    const reply = await ask(harness, '/v1/table/prod$t/query', { headers: admin, body: '{}' });
    expect([reply.status, reply.text.length]).toEqual([200, 1024]);
  });

  it('refuses what goes over it, and the audit log says so', async () => {
    harness = await start({
      limits: 'limits: [{ name: a, budget: { memory: 1KiB } }]',
      handle: ({ budget }) => {
        budget.charge(1025);
        return { status: 200, body: null };
      },
    });
    const reply = await ask(harness, '/v1/table/prod$t/query', { headers: admin, body: '{}' });
    expect(reply.status).toBe(400);
    expect(reply.headers['x-arrowgate-decision']).toBe('allow');
    expect(json(reply)).toMatchObject({
      code: 13,
      error:
        'The request needs more than 1 KiB of memory (budget.memory): ask for less, or for fewer rows at once',
    });
    expect(harness.audit.outcomes()).toMatchObject([{ decision: 'over budget', code: 13 }]);
  });
});

describe('a request that gets no memory', () => {
  it('is a 503 that says when to try again, and shows nothing of the other requests', async () => {
    const memory = new RequestMemory(1024, 1);
    memory.force(1024);
    harness = await start({
      handle: async () => {
        await memory.take(512);
        return { status: 200, body: null };
      },
    });
    const reply = await ask(harness, '/v1/table/prod$t/query', { headers: admin, body: '{}' });
    expect([reply.status, reply.headers['retry-after']]).toEqual([503, '5']);
    expect(json(reply)).toEqual({
      error: 'other requests hold all memory that requests may hold (budget.memory): try again',
      code: 17,
      instance: reply.headers['x-request-id'],
    });
    expect(Object.keys(reply.headers).toSorted()).toEqual([
      'connection',
      'content-length',
      'content-type',
      'date',
      'phalanx-version',
      'retry-after',
      'x-arrowgate-decision',
      'x-arrowgate-decision-id',
      'x-request-id',
    ]);
  });
});
