import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedStores, startGateways, type Gateways } from '../support/gateways.ts';
import { send, type Reply, type Sent } from './http.ts';
import { InsertLedger, range } from './insert-ledger.ts';
import { goodRows, noVector } from './table-bodies.ts';

describe.each(sharedStores)('two gateways on one data folder with %s', (store) => {
  let gateways: Gateways;

  beforeAll(async () => {
    gateways = await startGateways(store);
  });

  afterAll(() => gateways.stop());

  /** Through the first gateway; it has to succeed. */
  async function done(line: string, body: Sent['body'] = {}): Promise<Reply> {
    const reply = await send(gateways.a.url, line, { body });
    expect([reply.status, reply.text]).toEqual([200, expect.anything()]);
    return reply;
  }

  /** Through the second gateway. */
  const seen = (line: string, body: Sent['body'] = {}): Promise<Reply> =>
    send(gateways.b.url, line, { body });

  async function rows(table: string, body: object = {}): Promise<string> {
    return (await seen(`POST /v1/table/${table}/count_rows`, body)).text;
  }

  it('show each other every change at the next request', async () => {
    await done('POST /v1/table/t/create', goodRows);
    expect(await rows('t')).toBe('3');
    for (const inserts of range(20)) {
      await done('POST /v1/table/t/insert', goodRows);
      expect(await rows('t')).toBe(String(3 * (inserts + 2)));
    }
    await done('POST /v1/table/t/delete', { predicate: 'true' });
    expect(await rows('t')).toBe('0');
    await done('POST /v1/table/t/insert?mode=overwrite', goodRows);
    expect(await rows('t')).toBe('3');
    expect((await seen('POST /v1/table/t/describe')).json['version']).toBe(23);
  });

  it('show each other columns, metadata, tags, branches and restored versions', async () => {
    await done('POST /v1/table/s/create', goodRows);
    expect((await seen('POST /v1/table/s/describe')).text).not.toContain('twice');
    const columns = [{ name: 'twice', expression: '2' }];
    await done('POST /v1/table/s/add_columns', { new_columns: columns });
    expect((await seen('POST /v1/table/s/describe')).text).toContain('twice');
    const query = { k: 10, vector: [], filter: 'twice = 2' };
    expect((await seen('POST /v1/table/s/query', query)).headers['x-lancedb-version']).toBe('2');

    await done('POST /v1/table/s/tags/create', { tag: 'old', version: 1 });
    expect((await seen('POST /v1/table/s/tags/version', { tag: 'old' })).json['version']).toBe(1);
    await done('POST /v1/table/s/tags/update', { tag: 'old', version: 2 });
    expect((await seen('POST /v1/table/s/tags/version', { tag: 'old' })).json['version']).toBe(2);
    await done('POST /v1/table/s/tags/delete', { tag: 'old' });
    expect((await seen('POST /v1/table/s/tags/version', { tag: 'old' })).json['code']).toBe(8);

    for (const count of [1, 2]) {
      // The second time the name means another branch, with the same numbers of versions.
      await done('POST /v1/table/s/branches/create', { name: 'side' });
      for (const _ of range(count)) await done('POST /v1/table/s/insert?branch=side', noVector);
      expect(await rows('s', { branch: 'side' })).toBe(String(3 + 3 * count));
      const counted = await seen('POST /v1/table/s/count_rows', { branch: 'side' });
      expect(counted.headers['x-lancedb-version']).toBe(String(2 + count));
      expect(await rows('s')).toBe('3');
      await done('POST /v1/table/s/branches/delete', { name: 'side' });
      const gone = await seen('POST /v1/table/s/count_rows', { branch: 'side' });
      expect(gone.json['code']).toBe(22);
    }

    await done('POST /v1/table/s/drop_columns', { columns: ['twice'] });
    expect((await seen('POST /v1/table/s/query', query)).json['code']).toBe(12);
    await done('POST /v1/table/s/restore', { version: 2 });
    expect((await seen('POST /v1/table/s/query', query)).headers['x-lancedb-version']).toBe('4');
  });

  it('show each other what names mean', async () => {
    await done('POST /v1/namespace/ns/create');
    expect((await seen('POST /v1/namespace/ns/describe')).status).toBe(200);
    await done('POST /v1/table/ns$x/create', goodRows);
    expect(await rows('ns$x')).toBe('3');
    await done('POST /v1/table/ns$x/rename', { new_table_name: 'y', new_namespace_id: ['ns'] });
    expect((await seen('POST /v1/table/ns$x/count_rows')).json['code']).toBe(4);
    expect(await rows('ns$y')).toBe('3');
    await done('POST /v1/table/ns$y/drop');
    expect((await seen('POST /v1/table/ns$y/count_rows')).json['code']).toBe(4);
    // Another table of the same name begins again with its versions.
    await done('POST /v1/table/ns$y/create', noVector);
    expect((await seen('POST /v1/table/ns$y/describe')).json['version']).toBe(1);
    await done('POST /v1/table/ns$y/drop');
    await done('POST /v1/namespace/ns/drop');
    expect((await seen('POST /v1/namespace/ns/describe')).json['code']).toBe(1);
  });

  it('answer small reads alike, however often they gave another answer before', async () => {
    const changes: readonly (readonly [string, Sent['body']])[] = [
      ['create', goodRows],
      ['insert', goodRows],
      ['tags/create', { tag: 'one', version: 1 }],
      ['tags/update', { tag: 'one', version: 2 }],
      ['delete', { predicate: 'true' }],
      ['drop', {}],
      ['create', noVector],
    ];
    const reads = ['describe', 'exists', 'count_rows', 'stats', 'version/describe', 'tags/list'];
    const asked = async ({ url }: { readonly url: string }) => {
      const replies = reads.map((read) => send(url, `POST /v1/table/r/${read}`, { body: {} }));
      // A refusal has the request's id.
      return (await Promise.all(replies)).map((reply) =>
        reply.status === 200 ? reply.text : reply.json['code'],
      );
    };
    let before: unknown;
    for (const [action, body] of changes) {
      await done(`POST /v1/table/r/${action}`, body);
      const first = await asked(gateways.b);
      expect([action, first]).not.toEqual([action, before]);
      for (const side of ['b', 'b', 'a', 'b', 'a'] as const) {
        expect([action, await asked(gateways[side])]).toEqual([action, first]);
      }
      before = first;
    }
  });

  it('take keys that were made and revoked beside them', async () => {
    const key = await gateways.a.key('someone', 'admin');
    const asked = () => send(gateways.b.url, 'GET /v1/table', { key });
    expect((await asked()).status).toBe(200);
    await gateways.a.command('keys', 'revoke', key.split('_')[1]!);
    await expect.poll(async () => (await asked()).status).toBe(401);
  });

  it('add up what is written through both at the same time', async () => {
    const ledger = new InsertLedger('both');
    await ledger.create(gateways.a.url);
    const writers = [gateways.a, gateways.b, gateways.a, gateways.b].map(async ({ url }) => {
      for (const rows of range(12)) await ledger.insert(url, 1 + rows);
    });
    await Promise.all(writers);
    expect(ledger.acknowledged).toBe(48);
    await ledger.check(gateways.a.url);
    await ledger.check(gateways.b.url);
  });
});

describe('what a client has seen', () => {
  let gateways: Gateways;

  beforeAll(async () => {
    gateways = await startGateways('redis');
  });

  afterAll(() => gateways.stop());

  function asked(line: string, seen: string, body: object = {}): Promise<Reply> {
    const headers = { 'x-lancedb-min-version': '1', 'x-lancedb-min-read-version': seen };
    return send(gateways.b.url, line, { body, headers });
  }

  it('is not asked of a table that has taken the name of the one that was seen', async () => {
    const { url } = gateways.a;
    await send(url, 'POST /v1/table/r/create', { body: goodRows });
    await send(url, 'POST /v1/table/r/insert', { body: goodRows });
    await send(url, 'POST /v1/table/r/create?mode=overwrite', { body: goodRows });
    expect((await asked('POST /v1/table/r/count_rows', '2')).text).toBe('3');
    expect((await asked('POST /v1/table/r/count_rows', 'soon')).text).toBe('3');
  });

  it('keeps a gateway from answering by a store that has lost versions', async () => {
    const { url } = gateways.a;
    const redis = gateways.redis!;
    await send(url, 'POST /v1/table/t/create', { body: goodRows });
    await send(url, 'POST /v1/table/t/branches/create', { body: { name: 'side' } });
    const keys = (await redis.command('KEYS', '*')) as string[];
    const before = await Promise.all(keys.map((key) => redis.dump(key)));
    await send(url, 'POST /v1/table/t/insert', { body: goodRows });
    await send(url, 'POST /v1/table/t/insert?branch=side', { body: goodRows });
    expect((await asked('POST /v1/table/t/count_rows', '2')).text).toBe('6');
    for (const [at, key] of keys.entries()) await redis.restore(key, before[at] ?? null);

    const refused = {
      status: 503,
      json: {
        code: 17,
        error:
          'the store of the catalog lacks changes: its newest version of the table is 1, but version 2 was written',
      },
    };
    const lines = ['count_rows', 'query', 'describe', 'version/list', 'stats', 'tags/list'];
    for (const line of lines) {
      const body = line === 'query' ? { k: 9, vector: [] } : {};
      const { status, json } = await asked(`POST /v1/table/t/${line}`, '2', body);
      expect({ status, json }, line).toMatchObject(refused);
    }
    const side = await asked('POST /v1/table/t/count_rows', '2', { branch: 'side' });
    expect({ status: side.status, json: side.json }).toMatchObject(refused);
    expect((await asked('POST /v1/table/t/count_rows', '1')).text).toBe('3');
    expect((await asked('POST /v1/table/t/count_rows', '2', { version: 1 })).text).toBe('3');
  });
});
