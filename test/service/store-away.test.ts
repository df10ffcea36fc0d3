import { tableFromIPC } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RedisServer } from '../support/redis-server.ts';
import { Service } from '../support/service.ts';
import { send, type Reply, type Sent } from './http.ts';
import { goodRows, noVector } from './table-bodies.ts';

const POLICY = `p, role:admin, /**, *, allow
g, user:admin, role:admin
p, role:reader, /t, read, allow
p, role:reader, /t, QueryTable, deny
`;

let redis: RedisServer;
let service: Service;
let reader: string;

const at = (version: number) => ({ k: 99, vector: [], version });

function ask(line: string, body: Sent['body'] = {}, key?: string): Promise<Reply> {
  return send(service.url, `POST /v1/table/${line}`, {
    body,
    ...(key === undefined ? {} : { key }),
  });
}

/** Reads of versions that are named, by which the process learns what they are. */
const named: readonly (readonly [string, object])[] = [
  ['t/query', at(1)],
  ['t/query', { k: 99, vector: [], tag: 'first' }],
  ['t/count_rows', { version: 1 }],
  ['t/count_rows', { tag: 'aside' }],
  ['t/count_rows', { version: 1, predicate: 'id > 1' }],
  ['t/count_rows', { version: 3, branch: 'side' }],
  ['t/describe', { version: 1 }],
  ['t/describe', { tag: 'first' }],
  ['t/describe', { tag: 'aside' }],
  ['t/exists', { version: 1 }],
  ['t/tags/version', { tag: 'first' }],
  ['t/version/describe', { version: 1 }],
  ['t/explain_plan', { query: at(1) }],
  ['t/analyze_plan', at(1)],
];

const answers = new Map<string, Reply>();

beforeAll(async () => {
  redis = await RedisServer.start();
  service = await Service.start({ flags: ['--redis', redis.url], policy: POLICY });
  reader = await service.key('reader', 'reader');
  const changes: readonly (readonly [string, Sent['body']])[] = [
    ['t/create', goodRows],
    ['t/insert', goodRows],
    ['t/tags/create', { tag: 'first', version: 1 }],
    ['t/tags/create', { tag: 'moved', version: 1 }],
    ['t/branches/create', { name: 'side' }],
    ['t/insert?branch=side', goodRows],
    ['t/tags/create?branch=side', { tag: 'aside', version: 3 }],
    ['gone/create', noVector],
    ['old/create', noVector],
    ['declared/declare', {}],
  ];
  for (const [line, body] of changes)
    expect([line, (await ask(line, body)).status]).toEqual([line, 200]);
  for (const [line, body] of named) {
    const reply = await ask(line, body);
    expect([line, reply.status]).toEqual([line, 200]);
    answers.set(`${line} ${JSON.stringify(body)}`, reply);
  }
  // Read, and then changed by this process.
  for (const table of ['gone', 'old']) await ask(`${table}/count_rows`, { version: 1 });
  await ask('t/describe', { tag: 'moved' });
  await ask('gone/drop');
  await ask('old/rename', { new_table_name: 'new' });
  await ask('t/tags/update', { tag: 'moved', version: 2 });
  await ask('declared/describe');
  await redis.kill();
});

afterAll(async () => {
  await service.stop();
  await redis.stop();
});

describe('while the store is away', () => {
  it.each(named)('%s of %j is answered as before', async (line, body) => {
    const before = answers.get(`${line} ${JSON.stringify(body)}`)!;
    const reply = await ask(line, body);
    expect(reply.status).toBe(200);
    if (line === 't/analyze_plan') return;
    if (line !== 't/query') return expect(reply.text).toBe(before.text);
    expect(reply.headers['x-lancedb-version']).toBe('1');
    expect(tableFromIPC(reply.bytes).toString()).toBe(tableFromIPC(before.bytes).toString());
  });

  const unanswered: readonly (readonly [string, Sent['body']])[] = [
    ['t/query', { k: 99, vector: [] }],
    ['t/count_rows', {}],
    ['t/describe', {}],
    ['t/describe', { version: null }],
    ['declared/describe', {}],
    ['t/exists', {}],
    ['t/stats', {}],
    ['t/version/list', {}],
    ['t/tags/list', {}],
    ['t/count_rows', { branch: 'side' }],
    // Never read before.
    ['t/count_rows', { version: 99 }],
    ['t/count_rows', { version: 3 }],
    ['t/describe', { tag: 'other' }],
    ['t/count_rows', { version: 1, branch: 'other' }],
    ['other/count_rows', { version: 1 }],
    ['declared/describe', { version: 1 }],
    // Changed by this process since.
    ['gone/count_rows', { version: 1 }],
    ['old/count_rows', { version: 1 }],
    ['t/describe', { tag: 'moved' }],
    // Changes.
    ['t/insert', goodRows],
    ['t/restore', { version: 1 }],
    ['t/tags/create', { tag: 'x', version: 1 }],
    ['t/version/delete', { ranges: [{ start_version: 1, end_version: 2 }] }],
    ['u/create', goodRows],
  ];

  it.each(unanswered)('%s of %j is 503 code 17', async (line, body) => {
    const { status, json } = await ask(line, body);
    expect({ status, json }).toMatchObject({
      status: 503,
      json: { code: 17, error: 'the store of the catalog does not answer' },
    });
  });

  it('a past version is refused to whom it is refused at all times', async () => {
    expect((await ask('t/query', at(1), reader)).json['code']).toBe(15);
    expect((await ask('t/count_rows', { version: 1 }, reader)).text).toBe('3');
    expect((await ask('t/query', { ...at(1), filter: 'nothing > 1' })).json['code']).toBe(12);
    expect((await ask('t/describe', { tag: 'first', version: 2 })).json['code']).toBe(13);
  });

  it('everything is answered again when it is back', async () => {
    await redis.restart();
    await expect.poll(async () => (await ask('t/count_rows')).text).toBe('6');
    expect((await ask('t/describe', { tag: 'moved' })).json['version']).toBe(2);
    expect((await ask('gone/count_rows', { version: 1 })).json['code']).toBe(4);
    // A store that was wiped is not away: nothing is answered in its place.
    await redis.command('FLUSHALL');
    expect((await ask('t/count_rows', { version: 1 })).json['code']).toBe(17);
  });
});
