import { request } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { StoreError } from '../../src/store/store-error.ts';
import type { Quota } from '../../src/store/quota.ts';
import { eventually } from '../support/eventually.ts';
import {
  admin,
  ask,
  json,
  start,
  type Ask,
  type Harness,
  type Reply,
  type Setup,
} from './harness.ts';

let harness: Harness;

afterEach(() => harness.close());

/** Limits, one a line: what stands beside its name. */
async function limited(limits: readonly string[], setup: Setup = {}): Promise<void> {
  const lines = limits.map((each, index) => `  - { name: l${index + 1}, ${each} }\n`);
  harness = await start({ ...setup, limits: `limits:\n${lines.join('')}` });
}

function describeTable(table = 'prod$t', options: Ask = {}): Promise<Reply> {
  return ask(harness, `/v1/table/${table}/describe`, { headers: admin, ...options });
}

async function statuses(...calls: readonly (() => Promise<Reply>)[]): Promise<readonly number[]> {
  const found: number[] = [];
  for (const call of calls) found.push((await call()).status);
  return found;
}

describe('a request beyond a rate', () => {
  it('is 429 with code 21, says when to come again, and reaches no backend', async () => {
    await limited(['rate: 1/h, burst: 2']);
    expect(await statuses(describeTable, describeTable)).toEqual([200, 200]);
    const reply = await describeTable();
    expect(reply.status).toBe(429);
    expect(json(reply)).toEqual({
      error: expect.stringMatching(
        /^the limit l1 \(1\/h, 2 at once, per subject\) is reached: try again in 3[56]\d\d s$/,
      ),
      code: 21,
      instance: reply.headers['x-request-id'],
    });
    expect(reply.headers).toMatchObject({
      'x-arrowgate-decision': 'limited',
      'retry-after': expect.stringMatching(/^3[56]\d\d$/),
      ratelimit: expect.stringMatching(/^"l1";r=0;t=7[12]\d\d$/),
      'ratelimit-policy': '"l1";q=2;w=7200',
    });
    expect(harness.events.filter((event) => event.startsWith('handle'))).toHaveLength(2);
  });

  it('is in the audit log, as an attempt and an outcome', async () => {
    await limited(['rate: 1/h']);
    await statuses(describeTable, describeTable);
    const records = harness.audit.records.slice(-2);
    expect(records.map(({ phase, decision }) => [phase, decision])).toEqual([
      ['attempt', 'limited'],
      ['outcome', 'limited'],
    ]);
    expect(records[1]).toMatchObject({ subject: 'user:admin', status: 429, code: 21 });
  });

  it('is refused before the policy is asked, and what the policy denies is counted', async () => {
    await limited(['rate: 1/h']);
    const key = { headers: { 'x-api-key': await harness.key({ subject: 'user:nobody' }) } };
    const calls = [() => describeTable('prod$t', key), () => describeTable('prod$t', key)];
    expect(await statuses(...calls)).toEqual([403, 429]);
  });

  it('is not counted without a caller who is known', async () => {
    await limited(['rate: 1/h, per: all']);
    const nobody = () => describeTable('prod$t', { headers: { 'x-api-key': 'wrong' } });
    expect(await statuses(nobody, nobody, describeTable)).toEqual([401, 401, 200]);
  });
});

describe('the fields of a request within its limits', () => {
  it('say what is left of each, by name', async () => {
    await limited(['rate: 60/m, burst: 10, cost: { describe: 4 }', 'concurrency: 3, per: all']);
    const { headers } = await describeTable();
    expect(headers['ratelimit']).toBe('"l1";r=6;t=4, "l2:concurrency";r=2');
    expect(headers['ratelimit-policy']).toBe(
      '"l1";q=10;w=10, "l2:concurrency";q=3;qu="concurrent-requests"',
    );
  });

  it('are absent where no limit is about it', async () => {
    await limited(['rate: 1/h, operations: [drop]']);
    const { headers } = await describeTable();
    expect(headers).not.toHaveProperty('ratelimit');
    expect(headers).not.toHaveProperty('ratelimit-policy');
  });
});

describe('a limit counts apart', () => {
  it.each<[string, readonly string[], readonly number[]]>([
    ['subject', ['a t', 'a2 t', 'b t'], [200, 429, 200]],
    ['credential', ['a t', 'a2 t', 'a t'], [200, 200, 429]],
    ['object', ['a t', 'b u', 'b t'], [200, 200, 429]],
    ['operation', ['a t', 'b u'], [200, 429]],
    ['address', ['a t', 'b u'], [200, 429]],
    ['network, network: /24', ['a t', 'b u'], [200, 429]],
    ['all', ['a t', 'b u'], [200, 429]],
    ['group', ['a t', 'a2 t', 'b t', 'c t'], [200, 429, 429, 200]],
  ])('per %s', async (per, calls, expected) => {
    const policy = `p, *, /**, *, allow\ng, user:a, group:one\ng, user:b, group:one\n`;
    await limited([`rate: 1/h, per: ${per}`], { policy });
    const keys = new Map<string, string>();
    for (const name of ['a', 'a2', 'b', 'c']) {
      keys.set(name, await harness.key({ subject: `user:${name[0]}` }));
    }
    const found = await statuses(
      ...calls.map((call) => () => {
        const [who = '', table = ''] = call.split(' ');
        return describeTable(table, { headers: { 'x-api-key': keys.get(who) } });
      }),
    );
    expect(found).toEqual(expected);
  });
});

describe('several limits', () => {
  it('take all or nothing: what one refuses costs nothing elsewhere', async () => {
    await limited(['rate: 1/h, burst: 3', 'rate: 1/h, per: object']);
    await statuses(
      () => describeTable('a'),
      () => describeTable('a'),
      () => describeTable('a'),
    );
    const { headers } = await describeTable('b');
    expect(headers['ratelimit']).toContain('"l1";r=1;');
  });
});

/** A backend whose answers wait until they are let go. */
function held(): {
  readonly setup: Setup;
  readonly let: () => void;
  readonly running: () => number;
} {
  const waiting: (() => void)[] = [];
  return {
    setup: {
      handle: async () => {
        await new Promise<void>((resolve) => waiting.push(resolve));
        return { status: 200, body: null };
      },
    },
    let: () => waiting.shift()?.(),
    running: () => waiting.length,
  };
}

describe('slots', () => {
  it('are taken while a request runs, and given back once it is answered', async () => {
    const backend = held();
    await limited(['concurrency: 1'], backend.setup);
    const first = describeTable();
    await eventually(async () => expect(backend.running()).toBe(1));
    const second = await describeTable();
    expect([second.status, second.headers['retry-after']]).toEqual([429, '1']);
    expect(json(second)['error']).toBe(
      'the limit l1 (1 that run at once, per subject) is reached: try again in 1 s',
    );
    backend.let();
    expect((await first).status).toBe(200);
    const third = describeTable();
    await eventually(async () => expect(backend.running()).toBe(1));
    backend.let();
    expect((await third).status).toBe(200);
  });

  it('come back when the client goes away, once what it asked for has ended', async () => {
    const backend = held();
    await limited(['concurrency: 1'], backend.setup);
    const outgoing = request(new URL('/v1/table/t/describe', harness.url), {
      method: 'POST',
      headers: admin,
    });
    outgoing.on('error', () => undefined);
    outgoing.end();
    await eventually(async () => expect(backend.running()).toBe(1));
    outgoing.destroy();
    expect((await describeTable()).status).toBe(429);
    backend.let();
    await eventually(async () => {
      const again = describeTable();
      await Promise.race([again, eventually(async () => expect(backend.running()).toBe(1))]);
      backend.let();
      expect((await again).status).toBe(200);
    });
  });

  it('come back whatever became of the request: refused, denied, failed, or cut while it streamed', async () => {
    let turn = 0;
    await limited(['concurrency: 1'], {
      handle: () => {
        if (turn++ % 2 === 0) throw new Error('inside');
        return { status: 200, body: broken() };
      },
    });
    const nobody = { headers: { 'x-api-key': await harness.key({ subject: 'user:nobody' }) } };
    for (let round = 0; round < 3; round++) {
      expect((await describeTable()).status).toBe(500);
      await expect(describeTable()).rejects.toThrow();
      expect((await describeTable('t', nobody)).status).toBe(403);
      expect((await describeTable('t', nobody)).status).toBe(403);
    }
  });
});

async function* broken(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('some');
  await Promise.resolve();
  throw new Error('the disk is gone');
}

/** Counters that cannot be read. */
const away: Quota = {
  take: () => Promise.reject(new StoreError('unavailable', 'Redis does not answer')),
  used: () => Promise.reject(new StoreError('unavailable', 'Redis does not answer')),
  fault: () => 'Redis does not answer, so limits are not counted',
  close: async () => undefined,
};

describe('while nothing can be counted', () => {
  it('limits that are open let everything through', async () => {
    await limited(['rate: 1/h, on_store_failure: open', 'rate: 1/h'], { quota: away });
    expect(await statuses(describeTable, describeTable)).toEqual([200, 200]);
  });

  it('one that is closed lets nothing through that it is about', async () => {
    await limited(['rate: 1/h', 'rate: 1/h, operations: [describe], on_store_failure: closed'], {
      quota: away,
    });
    const reply = await describeTable();
    expect([reply.status, json(reply)['code'], json(reply)['error']]).toEqual([
      503,
      17,
      'the limit l2 cannot be checked now, so its requests are refused',
    ]);
    expect(reply.headers['x-arrowgate-decision']).toBe('unavailable');
    const query = await ask(harness, '/v1/table/t/drop', { headers: admin });
    expect(query.status).toBe(200);
  });

  it('readiness is degraded', async () => {
    await limited(['rate: 1/h'], { quota: away });
    const { status, text } = await ask(harness, '/readyz', { method: 'GET', headers: admin });
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({
      status: 'degraded',
      parts: expect.arrayContaining([
        {
          part: 'limits',
          status: 'degraded',
          why: 'Redis does not answer, so limits are not counted',
        },
      ]),
    });
  });
});
