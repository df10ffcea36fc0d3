import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ListingCatalog, type Paging } from '../support/listing-catalog.ts';
import { Service } from '../support/service.ts';
import { LANCEDB, send, type Reply, type Sent } from './http.ts';

const POLICY = `p, role:admin, /**, *, allow
p, role:trust, /**, read, allow
p, role:trust, /*/hr/**, *, deny
p, role:trust, /*/secret-1, *, deny
p, role:trust, /*/secret-2, *, deny
p, role:none, /elsewhere/**, read, allow
`;

const pagings: readonly Paging[] = ['names', 'opaque', 'tokenless', 'whole'];

const catalogs = new Map<Paging, ListingCatalog>();
let root: ListingCatalog;
let near: Service;
let composed: Service;
let reader: string;
let nobody: string;

beforeAll(async () => {
  for (const paging of pagings) catalogs.set(paging, await ListingCatalog.start(paging));
  root = await ListingCatalog.start('names');
  const backends = pagings.map(
    (name) =>
      `  - { name: ${name}, type: http, url: "${of(name).url}", namespaces: ["/${name}/**"] }\n`,
  );
  near = await Service.start({
    policy: POLICY,
    config: `backends:\n${backends.join('')}  - { name: engine, type: embedded, namespaces: ["/**"] }\n`,
  });
  composed = await Service.start({
    policy: POLICY,
    config: `backends:\n${backends[0]}  - { name: root, type: http, url: "${root.url}", namespaces: ["/**"] }\n`,
  });
  reader = await near.key('user:ann', 'role:trust');
  nobody = await near.key('user:bob', 'role:none');
}, 60_000);

afterAll(async () => {
  await near?.stop();
  await composed?.stop();
  await root?.stop();
  for (const catalog of catalogs.values()) await catalog.stop();
});

beforeEach(() => {
  for (const catalog of [root, ...catalogs.values()]) {
    catalog.instead = undefined;
    catalog.asked.length = 0;
  }
});

const of = (paging: Paging): ListingCatalog => catalogs.get(paging)!;

const list = (path: string, key: string, sent: Sent = {}): Promise<Reply> =>
  send(near.url, `GET /v1/namespace/${path}`, { key, ...sent });

/** All names of a listing, page by page, and the tokens between them. */
async function walked(path: string, key: string, limit: number) {
  const pages: string[][] = [];
  const tokens: string[] = [];
  for (let token: string | undefined = ''; token !== undefined;) {
    const query = `limit=${limit}${token === '' ? '' : `&page_token=${encodeURIComponent(token)}`}`;
    const { status, json }: Reply = await list(`${path}?${query}`, key);
    expect(status).toBe(200);
    pages.push((json['tables'] ?? json['namespaces']) as string[]);
    token = json['page_token'] as string | undefined;
    if (token !== undefined) tokens.push(token);
  }
  return { pages, tokens };
}

describe.each(pagings)('The listing of a backend that pages by %s', (paging) => {
  const tables = ['z', 'secret-1', 'b', 'secret-2', 'a', 'd', 'ä', 'c', 'secret-1', 'e'];

  beforeEach(() => {
    const once = [...new Set(tables)];
    of(paging).names.set(`/v1/namespace/${paging}/table/list`, paging === 'opaque' ? tables : once);
    of(paging).names.set(`/v1/namespace/${paging}/list`, ['hr', 'sales']);
  });

  it('shows what the caller may see, in full pages and in order', async () => {
    const { pages, tokens } = await walked(`${paging}/table/list`, reader, 2);
    expect(pages).toEqual([['a', 'b'], ['c', 'd'], ['e', 'z'], ['ä']]);
    expect(tokens).toEqual(['b', 'd', 'z']);
    const all = await list(`${paging}/table/list`, reader);
    expect(all.json).toEqual({ tables: ['a', 'b', 'c', 'd', 'e', 'z', 'ä'] });
    expect((await list(`${paging}/list`, reader)).json).toEqual({ namespaces: ['sales'] });
  });

  it('begins beyond any name, whichever is asked for first', async () => {
    const { json } = await list(`${paging}/table/list?page_token=cc&limit=2`, reader);
    expect(json).toEqual({ tables: ['d', 'e'], page_token: 'e' });
    const end = await list(`${paging}/table/list?page_token=zz&limit=1`, reader);
    expect(end.json).toEqual({ tables: ['ä'] });
    expect((await list(`${paging}/table/list?limit=0`, reader)).json).toEqual({ tables: [] });
  });

  it('shows nothing to those who may see nothing there', async () => {
    const before = of(paging).asked.length;
    const { status, json } = await list(`${paging}/table/list`, nobody);
    expect([status, json]).toEqual([200, { tables: [] }]);
    expect(of(paging).asked.length).toBe(before);
  });
});

describe('A filtered listing', () => {
  const path = '/v1/namespace/names/table/list';

  it('has nothing of the answer but names, and no headers about them', async () => {
    of('names').names.set(path, ['a', 'secret-1']);
    const { json, headers } = await list('names/table/list', reader);
    expect(json).toEqual({ tables: ['a'] });
    expect(headers).not.toHaveProperty('etag');
    expect(headers['phalanx-version']).toBe('0.4.0');
  });

  it('leaves out names that no route could say', async () => {
    of('names').names.set(path, ['a', 'hr$people', '.', '', 'b\u0000']);
    expect((await list('names/table/list', reader)).json).toEqual({ tables: ['a'] });
  });

  it('takes its parameters from a body, which is not forwarded', async () => {
    of('names').names.set(path, ['a', 'b', 'c']);
    const body = { id: ['names'], limit: 1, page_token: 'a' };
    const reply = await send(near.url, `POST ${path}`, { key: reader, body });
    expect(reply.json).toEqual({ tables: ['b'], page_token: 'b' });
    expect(of('names').asked.map((asked) => [asked.method, asked.body])).toContainEqual([
      'GET',
      '',
    ]);
    expect(of('names').asked.map(({ method }) => method)).not.toContain('POST');
  });

  it.each([
    [{ id: ['other'] }, 'the field "id" of the body differs from what the request says elsewhere'],
    [{ limit: 2 }, 'the field "limit" of the body differs from what the request says elsewhere'],
    [[1], 'the body must be a JSON object'],
  ])('refuses the body %j', async (body, sentence) => {
    const reply = await send(near.url, `POST ${path}?limit=1`, { key: reader, body });
    expect([reply.status, reply.json['code'], reply.json['error']]).toEqual([400, 13, sentence]);
  });

  it('passes a refusal of the backend on', async () => {
    const reply = await list('names$none/table/list', reader);
    expect([reply.status, reply.json['code'], reply.json['error']]).toEqual([
      404,
      1,
      'nothing there',
    ]);
  });

  it.each(['<html>', '{"tables":"a"}', '{"tables":[{"name":"a"}]}', '{"other":[]}', '[]'])(
    'is unavailable where the backend answers %s',
    async (body) => {
      of('names').instead = { status: 200, body };
      const reply = await list('names/table/list', reader);
      expect([reply.status, reply.json['code'], reply.json['error']]).toEqual([
        503,
        17,
        'the backend names answered a listing that cannot be parsed, so it cannot be filtered',
      ]);
    },
  );

  it('ends where the backend has no end', async () => {
    of('opaque').instead = { status: 200, body: '{"tables":["hr","b"],"page_token":"1"}' };
    const same = await list('opaque/table/list', reader);
    expect(same.json).toEqual({ tables: ['b'] });
    expect(of('opaque').asked.length).toBeLessThan(10);
  });
});

describe('The listing of all tables', () => {
  beforeEach(() => {
    root.names.set('/v1/table', ['top', 'x$hr$people', 'x$open', 'names$t', 'a.b']);
    root.names.set('/v1/namespace/$/table/list', ['top', 'x$open', 'a.b']);
    root.names.set('/v1/namespace/$/list', ['x', 'names', 'y']);
  });

  const all = (query: string, sent: Sent = {}): Promise<Reply> =>
    send(composed.url, `GET /v1/table${query}`, sent);

  it('is judged by identifiers, whatever the delimiter of the client', async () => {
    const key = await composed.key('user:ann', 'role:trust');
    expect((await all('', { key })).json).toEqual({ tables: ['a.b', 'top', 'x$open'] });
    const dots = await all('?delimiter=.&limit=2', { key });
    expect(dots.json).toEqual({ tables: ['a.b', 'top'], page_token: 'top' });
    const rest = await all('?delimiter=.&limit=2&page_token=top', { key });
    expect(rest.json).toEqual({ tables: ['x.open'] });
    expect(root.asked.every(({ query }) => !query.has('delimiter'))).toBe(true);
  });

  it('is that of the root to a LanceDB client', async () => {
    const key = await composed.key('user:ann', 'role:trust');
    const reply = await all('/', { key, headers: LANCEDB });
    expect(reply.json).toEqual({ tables: ['a.b', 'top'] });
  });

  it('is that of one backend alone, and its namespaces stand beside those of others', async () => {
    expect((await all('')).json).toEqual({ tables: ['a.b', 'top', 'x$hr$people', 'x$open'] });
    const listed = await send(composed.url, 'GET /v1/namespace/$/list?limit=2');
    expect(listed.json).toEqual({ namespaces: ['names', 'x'], page_token: 'x' });
    const rest = await send(composed.url, 'GET /v1/namespace/$/list?limit=2&page_token=x');
    expect(rest.json).toEqual({ namespaces: ['y'] });
  });
});
