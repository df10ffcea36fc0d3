import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { send, sendGranted } from '../service/http.ts';
import { goodRows } from '../service/table-bodies.ts';
import { Service } from '../support/service.ts';
import { attackedService, decisionAttacks, preparation } from './decision-attacks.ts';

describe('an attack on decisions', () => {
  let service: Service;
  const keys = new Map<string, string>();

  beforeAll(async () => {
    service = await Service.start(attackedService);
    const granted = (line: string, body: object) => sendGranted(service.url, line, { body });
    await granted('POST /v1/namespace/prod/create', {});
    await granted('POST /v1/table/prod$t/create', goodRows);
    for (const { line, body } of preparation) await granted(line, body);
    for (const role of new Set(decisionAttacks.map((attack) => attack.role))) {
      keys.set(role, await service.key(role, role));
    }
  });

  afterAll(() => service.stop());

  it.each(decisionAttacks)('$name: $line', async ({ role, line, status, code, ...sent }) => {
    const tags = () => send(service.url, 'POST /v1/table/prod$t/tags/list', { body: {} });
    const before = (await tags()).text;
    const reply = await send(service.url, line, { ...sent, key: keys.get(role) ?? null });
    expect([reply.status, reply.json['code']]).toEqual([status, code]);
    expect((await tags()).text).toBe(before);
  });

  it('leaves what is granted alone', async () => {
    const dev = keys.get('dev') ?? null;
    const ask = (action: string, body: object) =>
      send(service.url, `POST /v1/table/prod$t/tags/${action}`, { key: dev, body });
    const update = { tag: 'of-dev', version: 1, branch: 'dev' };
    expect((await ask('version', { tag: 'of-dev' })).json).toMatchObject({ branch: 'dev' });
    expect((await ask('update', update)).status).toBe(200);
    expect((await ask('delete', { tag: 'of-dev' })).status).toBe(200);
    expect((await ask('delete', { tag: 'of-dev' })).status).toBe(404);
  });
});
