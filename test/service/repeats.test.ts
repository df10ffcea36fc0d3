import { setTimeout as sleep } from 'node:timers/promises';
import { Int64, Table, tableToIPC, vectorFromArray } from 'apache-arrow';
import { afterEach, describe, expect, it } from 'vitest';
import { Service } from '../support/service.ts';
import { send, type Reply } from './http.ts';
import { randomOf } from './random.ts';
import { casesOf } from '../support/cases.ts';

const KILLS = casesOf(5, 12);

let service: Service;
afterEach(() => service.stop());

function rows(...values: readonly bigint[]): Uint8Array {
  return tableToIPC(new Table({ n: vectorFromArray(values, new Int64()) }), 'stream');
}

async function post(path: string, body: Uint8Array | object, id: string): Promise<Reply> {
  const headers = { 'x-request-id': id };
  return send(service.url, `POST /v1/table/${path}`, { body, headers });
}

async function count(table = 't', predicate?: string): Promise<number> {
  return Number((await post(`${table}/count_rows`, { predicate }, 'count')).text);
}

describe('a service that is killed while it changes a table', () => {
  it('makes each change once, however often its client repeats it', async () => {
    service = await Service.start();
    const random = randomOf(4);
    expect((await post('t/create', rows(), 'create')).status).toBe(200);
    expect((await post('u/create', rows(0n), 'create')).status).toBe(200);
    let made = 0;
    let changes = 0;
    let replayed = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      let acknowledged = 0;
      let begun: () => void = () => undefined;
      const killed = new Promise<void>((resolve) => {
        begun = resolve;
      })
        .then(() => sleep(random(60)))
        .then(() => service.end('SIGKILL'));
      const writers = Array.from({ length: 4 }, async (_, writer) => {
        const done: { path: string; body: Uint8Array | object; id: string }[] = [];
        for (;;) {
          const id = `${kill}.${writer}.${done.length}`;
          const body = done.length % 3 === 2 ? { updates: [['n', 'n + 1']] } : rows(0n);
          done.push({ path: done.length % 3 === 2 ? 'u/update' : 't/insert', body, id });
          const reply = await post(done.at(-1)!.path, body, id).catch(() => undefined);
          if (reply === undefined) return done;
          expect(reply.status).toBe(200);
          acknowledged += 1;
          if (acknowledged === 3) begun();
        }
      });
      const all = (await Promise.all(writers)).flat();
      await killed;
      await service.restart();
      for (const { path, body, id } of all.toReversed()) {
        const reply = await post(path, body, id);
        expect([path, reply.status]).toStrictEqual([path, 200]);
        if (reply.headers['x-arrowgate-replayed'] === 'true') replayed += 1;
      }
      changes += all.length;
      made += all.filter(({ path }) => path === 't/insert').length;
      expect(await count()).toBe(made);
      // One row that each update counts up.
      expect(await count('u', `n = ${changes - made}`)).toBe(1);
    }
    expect(replayed).toBeGreaterThanOrEqual(3 * KILLS);
  });
});

describe('a repeated request', () => {
  it('is recognised for as long as the configuration says', async () => {
    service = await Service.start({ config: 'idempotence: { window: 1ms }\n' });
    await post('t/create', rows(), 'create');
    await post('t/insert', rows(1n), 'same');
    await sleep(5);
    await post('t/insert', rows(1n), 'same');
    expect(await count()).toBe(2);
  });

  it('has the id of the first in its answer, and says that it changed nothing', async () => {
    service = await Service.start();
    await post('t/create', rows(), 'create');
    const first = await post('t/insert', rows(1n), 'same');
    const second = await post('t/insert', rows(1n), 'same');
    expect(second.text).toBe(first.text);
    expect(second.headers['x-request-id']).toBe('same');
    expect(first.headers['x-arrowgate-replayed']).toBeUndefined();
    expect(second.headers['x-arrowgate-replayed']).toBe('true');
    const other = await post('t/insert', rows(2n), 'same');
    expect([other.status, other.json['code'], other.json['instance']]).toStrictEqual([
      400,
      13,
      'same',
    ]);
    expect(await count()).toBe(1);
  });

  it('is recognised by any visible ASCII characters', async () => {
    service = await Service.start();
    await post('t/create', rows(), 'create');
    for (const id of ['a+b=', 'a/b:{"~"}', '+'.repeat(256)]) {
      const first = await post('t/insert', rows(1n), id);
      const second = await post('t/insert', rows(1n), id);
      expect([first.status, first.headers['x-request-id']]).toStrictEqual([200, id]);
      expect([second.status, second.headers['x-arrowgate-replayed']]).toStrictEqual([200, 'true']);
    }
    expect(await count()).toBe(3);
  });

  it('is refused under an id that is not valid, and a read gets another id', async () => {
    service = await Service.start();
    await post('t/create', rows(), 'create');
    for (const id of ['not an id', '', 'x'.repeat(257)]) {
      const refused = await post('t/insert', rows(1n), id);
      expect([refused.status, refused.json['code']]).toStrictEqual([400, 13]);
      expect(refused.json['error']).toContain('x-request-id must be 1 to 256 visible ASCII');
      const read = await post('t/count_rows', {}, id);
      expect([read.status, read.text]).toStrictEqual([200, '0']);
      expect(read.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    }
  });
});
