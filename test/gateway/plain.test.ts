import { afterEach, describe, expect, it } from 'vitest';
import { admin, ask, json, start, type Harness, type Setup } from './harness.ts';

let harness: Harness;

afterEach(async () => {
  await harness.close();
});

async function open(setup: Setup = {}): Promise<void> {
  harness = await start(setup);
}

const get = { method: 'GET' };

describe('beside the protocol', () => {
  it('health is answered to anyone', async () => {
    await open();
    const reply = await ask(harness, '/healthz', get);
    expect([reply.status, reply.text]).toEqual([200, '{"status":"ok"}']);
  });

  it('the document of the interface is answered to anyone', async () => {
    await open();
    const document = json(await ask(harness, '/openapi.json', get));
    expect(document['openapi']).toMatch(/^3\.1\./);
    expect(document['paths']).toHaveProperty(['/v1/table/{id}/describe']);
  });

  it('a page is answered to HEAD without its body', async () => {
    await open();
    const reply = await ask(harness, '/healthz', { method: 'HEAD' });
    expect([reply.status, reply.text, reply.headers['content-length']]).toEqual([200, '', '15']);
  });

  it.each([
    ['GET', '/', 404, 'there is nothing at /'],
    ['GET', '/v1x', 404, 'there is nothing at /v1x'],
    ['GET', '/healthz/', 404, 'there is nothing at /healthz/'],
    ['POST', '/healthz', 405, 'POST is not a method of /healthz'],
  ])('%s %s is %i', async (method, path, status, error) => {
    await open();
    const reply = await ask(harness, path, { method });
    expect(reply.status).toBe(status);
    const instance = reply.headers['x-request-id'];
    expect(json(reply)).toEqual({ error, code: 0, instance });
    expect(reply.headers).not.toHaveProperty('x-arrowgate-decision');
  });

  it('nothing is recorded', async () => {
    await open();
    await ask(harness, '/healthz', get);
    await ask(harness, '/nothing', get);
    expect(harness.audit.records).toEqual([]);
  });
});

describe('readiness', () => {
  const sick: Setup = {
    health: () => 'the store does not answer',
    refused: () => 'policy.csv:1: no',
  };

  it('is ok when everything is', async () => {
    await open();
    const reply = await ask(harness, '/readyz', get);
    expect([reply.status, json(reply)]).toEqual([200, { status: 'ok' }]);
  });

  it('is degraded by a refused policy', async () => {
    await open({ refused: () => 'policy.csv:1: no' });
    const reply = await ask(harness, '/readyz', get);
    expect([reply.status, json(reply)]).toEqual([200, { status: 'degraded' }]);
  });

  it('is 503 when the backend cannot serve, and tells strangers no more', async () => {
    await open(sick);
    const key = await harness.key({ roles: ['role:analyst'] });
    for (const headers of [{}, { 'x-api-key': 'wrong' }, { 'x-api-key': key }]) {
      const reply = await ask(harness, '/readyz', { ...get, headers });
      expect([reply.status, json(reply)]).toEqual([503, { status: 'unavailable' }]);
    }
  });

  it('tells those who manage which part, and why', async () => {
    await open(sick);
    const reply = await ask(harness, '/readyz', { ...get, headers: admin });
    expect(json(reply)).toEqual({
      status: 'unavailable',
      parts: [
        { part: 'policy', status: 'degraded', why: 'policy.csv:1: no' },
        { part: 'limits', status: 'ok' },
        { part: 'keys', status: 'ok' },
        { part: 'issuers', status: 'ok' },
        { part: 'audit', status: 'ok' },
        { part: 'checkpoints', status: 'ok' },
        { part: 'small', status: 'unavailable', why: 'the store does not answer' },
        { part: 'durability', status: 'ok' },
        { part: 'gateway', status: 'ok' },
      ],
    });
  });
});
