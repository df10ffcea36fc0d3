import { afterEach, describe, expect, it } from 'vitest';
import { admin, ask, json, start, type Harness, type Setup } from './harness.ts';
import { eventually } from '../support/eventually.ts';

let harness: Harness;

afterEach(async () => {
  await harness.close();
});

async function open(setup: Setup = {}): Promise<void> {
  harness = await start(setup);
}

const INSERT = '/v1/table/prod$t/insert';
const DROP = '/v1/table/prod$t/drop';
const QUERY = '/v1/table/prod$t/query';
const UPDATE = '/v1/table/prod$t/update';

describe('the records of a change', () => {
  it('are on disk: the attempt before it takes effect, the outcome before the answer', async () => {
    await open();
    await ask(harness, INSERT, { headers: admin });
    expect(harness.events).toEqual([
      'attempt InsertIntoTable durable',
      'handle InsertIntoTable',
      'outcome InsertIntoTable durable',
    ]);
  });

  it('let rows come in meanwhile, but not their end', async () => {
    const attempt = held();
    await open({
      handle: async (request) => {
        for await (const chunk of request.body) harness.events.push(Buffer.from(chunk).toString());
        harness.events.push('end');
        return { status: 200, body: '{}' };
      },
    });
    const { audit } = harness;
    const write = audit.write.bind(audit);
    audit.write = async (record, durable) => {
      if (record.phase === 'attempt') await attempt.promise;
      return write(record, durable);
    };
    const reply = ask(harness, INSERT, { headers: admin, body: 'rows' });
    await eventually(() => expect(harness.events).toContain('rows'));
    await ask(harness, '/healthz', { method: 'GET' });
    expect(harness.events).toEqual(['handle InsertIntoTable', 'rows']);
    attempt.release();
    expect((await reply).status).toBe(200);
    expect(harness.events.slice(2)).toEqual([
      'attempt InsertIntoTable durable',
      'end',
      'outcome InsertIntoTable durable',
    ]);
  });

  it('let what is staged be prepared meanwhile, and answer nothing before', async () => {
    const attempt = held();
    await open({
      handle: async (request) => {
        for await (const chunk of request.ahead!.bytes)
          harness.events.push(Buffer.from(chunk).toString());
        harness.events.push('prepared');
        await request.ahead!.recorded();
        harness.events.push('committed');
        return { status: 200, body: '{}' };
      },
    });
    const { audit } = harness;
    const write = audit.write.bind(audit);
    audit.write = async (record, durable) => {
      if (record.phase === 'attempt') await attempt.promise;
      return write(record, durable);
    };
    const reply = ask(harness, UPDATE, { headers: admin, body: '{}' });
    await eventually(() => expect(harness.events).toContain('prepared'));
    await ask(harness, '/healthz', { method: 'GET' });
    expect(harness.events).toEqual(['handle UpdateTable', '{}', 'prepared']);
    attempt.release();
    expect((await reply).status).toBe(200);
    expect(harness.events.slice(3)).toEqual([
      'attempt UpdateTable durable',
      'committed',
      'outcome UpdateTable durable',
    ]);
  });

  it('refuse what was prepared when the attempt cannot be written', async () => {
    await open({
      handle: async (request) => {
        await request.ahead!.recorded();
        return { status: 200, body: '{}' };
      },
    });
    harness.audit.broken = ({ phase }) => phase === 'attempt';
    const reply = await ask(harness, UPDATE, { headers: admin, body: '{}' });
    expect([reply.status, json(reply)['code']]).toEqual([503, 17]);
  });

  it('hold back the answer until the outcome is written', async () => {
    await open();
    const { audit } = harness;
    const write = audit.write.bind(audit);
    const gate = held();
    audit.write = async (record, durable) => {
      if (record.phase === 'outcome') await gate.promise;
      return write(record, durable);
    };
    let answered = false;
    const reply = ask(harness, INSERT, { headers: admin }).then((got) => {
      answered = true;
      return got;
    });
    await eventually(() => expect(harness.events).toContain('handle InsertIntoTable'));
    await ask(harness, '/healthz', { method: 'GET' });
    expect(answered).toBe(false);
    gate.release();
    expect((await reply).status).toBe(200);
  });

  it('are durable when somebody known is denied it', async () => {
    await open();
    const key = await harness.key({ roles: ['role:analyst'] });
    await ask(harness, INSERT, { headers: { 'x-api-key': key } });
    expect(harness.events).toEqual(['attempt InsertIntoTable', 'outcome InsertIntoTable durable']);
  });

  it('wait for no disk when it is a read', async () => {
    await open();
    await ask(harness, QUERY, { headers: admin });
    expect(harness.events).toEqual([
      'attempt QueryTable',
      'handle QueryTable',
      'outcome QueryTable',
    ]);
  });
});

describe('while the audit log cannot be written', () => {
  it('nothing is changed, and reads go on', async () => {
    await open();
    harness.audit.broken = () => true;
    const refused = await ask(harness, DROP, { headers: admin });
    expect(refused.status).toBe(503);
    expect(json(refused)).toMatchObject({
      error: 'the audit log cannot be written, so nothing is changed',
      code: 17,
    });
    expect(refused.headers['x-arrowgate-decision']).toBe('unavailable');
    expect(harness.events).toEqual([]);
    expect((await ask(harness, QUERY, { headers: admin })).status).toBe(200);
    expect(harness.events).toEqual(['handle QueryTable']);
  });

  it('rows that came in meanwhile do not come to their end', async () => {
    const read: string[] = [];
    await open({
      handle: async (request) => {
        for await (const chunk of request.body) read.push(Buffer.from(chunk).toString());
        read.push('end');
        return { status: 200, body: '{}' };
      },
    });
    harness.audit.broken = () => true;
    const refused = await ask(harness, INSERT, { headers: admin, body: 'rows' });
    expect([refused.status, json(refused)]).toMatchObject([503, { code: 17 }]);
    expect(refused.headers['x-arrowgate-decision']).toBe('unavailable');
    expect(refused.headers).not.toHaveProperty('x-arrowgate-audit');
    expect(read).toEqual(['rows']);
  });

  it('a backend that does not read its rows cannot answer for them', async () => {
    await open();
    harness.audit.broken = () => true;
    const refused = await ask(harness, INSERT, { headers: admin });
    expect([refused.status, json(refused)]).toMatchObject([503, { code: 17 }]);
    harness.audit.broken = () => false;
    expect((await ask(harness, INSERT, { headers: admin })).status).toBe(200);
  });

  it('a change that took effect is answered as pending, the next ones are refused', async () => {
    await open();
    harness.audit.broken = (record) => record.phase === 'outcome';
    const done = await ask(harness, INSERT, { headers: admin });
    expect(done.status).toBe(200);
    expect(done.headers['x-arrowgate-audit']).toBe('pending');
    const next = await ask(harness, INSERT, { headers: admin });
    expect(next.status).toBe(503);
    expect(next.headers).not.toHaveProperty('x-arrowgate-audit');
    const ready = await ask(harness, '/readyz', { method: 'GET' });
    expect([ready.status, json(ready)]).toEqual([503, { status: 'unavailable' }]);
  });

  it('the owed outcome is written once, before anything else, as soon as it can be', async () => {
    await open();
    harness.audit.broken = (record) => record.phase === 'outcome';
    const pending = await ask(harness, INSERT, { headers: admin });
    harness.audit.broken = () => false;
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => ask(harness, INSERT, { headers: admin })),
    );
    expect(replies.map((reply) => reply.status)).toEqual([200, 200, 200, 200, 200]);
    const owed = harness.audit.records.filter(
      (record) => record.decision_id === pending.headers['x-arrowgate-decision-id'],
    );
    expect(owed.map((record) => record.phase)).toEqual(['attempt', 'outcome']);
    expect(harness.audit.records.indexOf(owed[1]!)).toBe(1);
    expect((await ask(harness, '/readyz', { method: 'GET' })).status).toBe(200);
  });
});

describe('an answer with credentials', () => {
  const DESCRIBE = '/v1/table/prod$t/describe';
  const SECRET = 'the-secret-of-a-session';
  const vended = { prefix: 's3://lake/t', access: 'read', until: null };
  const handle = () => ({ status: 200, body: JSON.stringify({ SECRET }), vended });

  it('is sent once its record is on disk', async () => {
    await open({ handle });
    const reply = await ask(harness, DESCRIBE, { headers: admin });
    expect([reply.status, json(reply)]).toEqual([200, { SECRET }]);
    expect(harness.events.at(-1)).toBe('outcome DescribeTable durable');
    expect(harness.audit.records.at(-1)).toMatchObject({ phase: 'outcome', vended });
    expect(JSON.stringify(harness.audit.records)).not.toContain(SECRET);
  });

  it.each([DESCRIBE, '/v1/table/prod$t/declare'])(
    'is withheld if its record cannot be written: %s',
    async (path) => {
      await open({ handle });
      harness.audit.broken = (record) => record.phase === 'outcome';
      const reply = await ask(harness, path, { headers: admin });
      expect([reply.status, json(reply)]).toEqual([
        503,
        expect.objectContaining({
          code: 17,
          error: 'the audit log cannot be written, so no credentials are issued',
        }),
      ]);
    },
  );
});

/** A promise that is resolved by hand. */
function held(): { readonly promise: Promise<void>; readonly release: () => void } {
  let release = (): void => undefined;
  const promise = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { promise, release };
}
