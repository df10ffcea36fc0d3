import type { Connection } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { specified } from '../protocol/specification.ts';
import { Service } from '../support/service.ts';
import { send, type Ask } from './http.ts';
import { connectTo, refusalOf } from './lancedb.ts';

/** What a caller learns of objects: what it may see, and nothing of the others. */

const POLICY = `
p, role:admin, /**, *, allow
p, user:reader, /prod/t03, read, allow
p, user:reader, /prod/t05, append, allow
p, user:reader, /prod/t06, describe, allow
p, user:reader, /prod/t08, *, allow
p, user:reader, /prod/t08, *, deny
p, user:reader, /prod/t09, QueryTable, allow
p, user:reader, /deep/a/b/*, read, allow
p, user:reader, /top, read, allow
p, user:deaf, /prod/**, read, allow
p, user:deaf, /prod, list, deny
`;

const ROWS = [{ id: 1 }];
let service: Service;
let admin: Connection;
let reader: Connection;
let keys: { readonly reader: string; readonly stranger: string; readonly deaf: string };

beforeAll(async () => {
  service = await Service.start({ policy: POLICY });
  admin = await connectTo(service);
  for (const path of [
    ['prod'],
    ['deep'],
    ['deep', 'a'],
    ['deep', 'a', 'b'],
    ['deep', 'c'],
    ['shut'],
  ]) {
    await admin.createNamespace(path);
  }
  for (let index = 0; index < 12; index++) {
    await admin.createTable(`t${String(index).padStart(2, '0')}`, ROWS, ['prod']);
  }
  await admin.createTable('t', ROWS, ['deep', 'a', 'b']);
  for (const name of ['other', 'top']) await admin.createTable(name, ROWS);
  keys = {
    reader: await service.key('reader'),
    stranger: await service.key('stranger'),
    deaf: await service.key('deaf'),
  };
  reader = await connectTo(service, keys.reader);
});

afterAll(() => service.stop());

describe('a listing', () => {
  const visible = ['t03', 't05', 't06', 't09'];

  it('shows the tables that the caller may see', async () => {
    expect(await reader.tableNames(['prod'])).toEqual(visible);
    expect(await reader.tableNames()).toEqual(['top']);
    expect(await admin.tableNames(['prod'])).toHaveLength(12);
  });

  it('shows the namespaces that hold something that the caller may see', async () => {
    expect(await reader.listNamespaces()).toEqual({ namespaces: ['deep', 'prod'] });
    expect(await reader.listNamespaces(['deep'])).toEqual({ namespaces: ['a'] });
    expect(await reader.tableNames(['deep', 'a', 'b'])).toEqual(['t']);
    expect(await admin.listNamespaces()).toEqual({
      namespaces: ['deep', 'prod', 'shut'],
    });
  });

  it.each([1, 2, 3, 4, 5])('fills pages of %i with visible names alone', async (limit) => {
    const pages: string[][] = [];
    let token: string | undefined;
    do {
      const query = new URLSearchParams({ limit: `${limit}`, ...(token && { page_token: token }) });
      const path = `/v1/namespace/prod/table/list?${query.toString()}`;
      const { body } = await send(service, path, { method: 'GET', key: keys.reader });
      const page = body as { tables: string[]; page_token?: string };
      pages.push(page.tables);
      token = page.page_token;
      if (token !== undefined) expect(token).toBe(page.tables.at(-1));
    } while (token !== undefined);
    expect(pages.flat()).toEqual(visible);
    for (const page of pages.slice(0, -1)) expect(page).toHaveLength(limit);
  });

  it('of all tables shows the same', async () => {
    const { body } = await send(service, '/v1/table', { method: 'GET', key: keys.reader });
    expect(body).toEqual({
      tables: ['deep$a$b$t', ...visible.map((name) => `prod$${name}`), 'top'],
    });
  });

  it('of nothing visible is empty, whether or not there is anything', async () => {
    const stranger = await connectTo(service, keys.stranger);
    for (const namespace of [[], ['prod'], ['shut'], ['absent'], ['deep', 'a', 'b']]) {
      expect(await stranger.tableNames(namespace)).toEqual([]);
      expect(await stranger.listNamespaces(namespace)).toEqual({ namespaces: [] });
    }
  });

  it('answers where it is denied too, with what may be seen', async () => {
    const deaf = await connectTo(service, keys.deaf);
    expect(await deaf.tableNames(['prod'])).toContain('t00');
    expect(await (await deaf.openTable('t00', ['prod'])).countRows()).toBe(1);
  });
});

describe('a refusal', () => {
  const routes = specified
    .filter(({ path, access }) => path.includes('{id}') && access !== 'list')
    .map(({ operation, method, path }) => [operation, method, path] as const);

  /** What a stranger is told, without the ids of the request. */
  async function told(path: string, ask: Ask): Promise<unknown> {
    const reply = await send(service, path, { ...ask, key: keys.stranger });
    const { instance, ...body } = reply.body as Record<string, unknown>;
    expect(instance).toBe(reply.headers.get('x-request-id'));
    const headers = Object.fromEntries(reply.headers);
    for (const name of ['date', 'x-request-id', 'x-arrowgate-decision-id']) delete headers[name];
    return { status: reply.status, body, headers };
  }

  it.each(routes)(
    'of %s reads the same before and after there is anything',
    async (operation, method, template) => {
      const onNamespace = template.startsWith('/v1/namespace/');
      const path = template.replace('{id}', 'prod$later').replace('{index_name}', 'i');
      const before = await told(path, { method });
      expect(before).toMatchObject({
        status: 403,
        body: { code: 15 },
        headers: { 'x-arrowgate-decision': 'deny' },
      });
      expect(JSON.stringify(before)).toContain(`user:stranger may not ${operation} on `);
      if (onNamespace) await admin.createNamespace(['prod', 'later']);
      else await admin.createTable('later', ROWS, ['prod']);
      const after = await told(path, { method });
      if (onNamespace) await admin.dropNamespace(['prod', 'later']);
      else await admin.dropTable('later', ['prod']);
      expect(after).toEqual(before);
    },
  );

  it('reads the same for what one may not see and what is not there', async () => {
    const refused = async (name: string) => {
      const { error, code, status } = await refusalOf(reader.dropTable(name, ['prod']));
      return { error: error.replace(name, 'NAME'), code, status };
    };
    expect(await refused('t00')).toEqual(await refused('absent'));
  });

  it('names the line to nobody but those who manage', async () => {
    const path = '/v1/table/prod$t08/query';
    const { status, headers } = await send(service, path, { key: keys.reader, body: {} });
    expect(status).toBe(403);
    expect(headers.get('x-arrowgate-reason')).not.toMatch(/policy\.csv|:\d/);
  });
});

describe('without a valid key', () => {
  it.each([
    ['no key', null, {}],
    ['an unknown key', 'agk_aaaaaaaaaa_' + 'A'.repeat(43), {}],
    ['something else', 'hello', {}],
    ['an empty key', '', {}],
  ])('everything is refused: %s', async (_, key, headers) => {
    for (const path of ['/v1/table/prod$t03/describe', '/v1/table/prod$absent/describe']) {
      const reply = await send(service, path, { key, headers });
      expect(reply.status).toBe(401);
      expect(reply.body).toMatchObject({ code: 16 });
      expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer/);
      expect(reply.headers.get('x-arrowgate-decision')).toBe('unauthenticated');
    }
  });

  it('the client says so', async () => {
    const nobody = await connectTo(service, 'wrong');
    expect(await refusalOf(nobody.tableNames())).toMatchObject({ status: 401, code: 16 });
    expect(await refusalOf(nobody.createTable('x', ROWS))).toMatchObject({ status: 401, code: 16 });
  });

  it('two keys of different subjects are as good as none', async () => {
    const headers = { authorization: `Bearer ${keys.stranger}` };
    const reply = await send(service, '/v1/table/prod$t03/describe', { key: keys.reader, headers });
    expect(reply.status).toBe(401);
  });

  it('a key may come as a bearer token', async () => {
    const headers = { authorization: `Bearer ${keys.reader}` };
    const reply = await send(service, '/v1/table/prod$t03/describe', { key: null, headers });
    expect(reply.status).toBe(200);
  });

  it('a revoked key is worth nothing', async () => {
    const key = await service.key('reader');
    const path = '/v1/table/prod$t03/describe';
    expect((await send(service, path, { key })).status).toBe(200);
    const id = key.split('_')[1]!;
    const { code } = await service.command('keys', 'revoke', id);
    expect(code).toBe(0);
    const status = async () => (await send(service, path, { key })).status;
    await expect.poll(status).toBe(401);
  });
});
