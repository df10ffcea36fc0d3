import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { ARROW_STREAM, send, sendGranted } from './http.ts';
import { goodRows } from './table-bodies.ts';

let far: Service;
let near: Service;

beforeAll(async () => {
  far = await Service.start({ config: 'databases: { inner: /inner }\n' });
  near = await Service.start({
    variables: { FAR_KEY: ADMIN_KEY },
    config: `databases: { west: /west, inner: /inner }
backends:
  - { name: inner, type: http, url: "${far.url}", namespaces: ["/inner/**"], strip_prefix: true, credential_env: FAR_KEY, database: inner, trust: [RenameTable] }
  - { name: west, type: http, url: "${far.url}", namespaces: ["/west/**"], credential_env: FAR_KEY, trust: [RenameTable] }
  - { name: embedded, type: embedded, namespaces: ["/**"] }
`,
  });
  const create = (line: string, body: Uint8Array | object) =>
    sendGranted(far.url, line, { body, headers: body instanceof Uint8Array ? ARROW_STREAM : {} });
  for (const name of ['inner', 'west']) {
    await create(`POST /v1/namespace/${name}/create`, {});
    await create(`POST /v1/table/${name}$t/create`, goodRows);
  }
});

afterAll(async () => {
  await near.stop();
  await far.stop();
});

const ask = (line: string, headers: Readonly<Record<string, string>> = {}, body: object = {}) =>
  send(near.url, line, { headers, ...(line.startsWith('POST') && { body }) });

describe('the database of a backend', () => {
  it('is the one of its configuration', async () => {
    const reply = await ask('POST /v1/table/inner$t/count_rows');
    expect([reply.status, reply.text]).toEqual([200, '3']);
    expect((await ask('POST /v1/table/west$t/count_rows')).text).toBe('3');
  });

  it('is none that a client names', async () => {
    const headers = { 'x-lancedb-database': 'inner' };
    // The name means the database of this gateway: the far one is asked in the other.
    expect((await ask('POST /v1/table/t/count_rows', headers)).text).toBe('3');
    const west = { 'x-lancedb-database': 'west' };
    expect((await ask('POST /v1/table/t/count_rows', west)).text).toBe('3');
  });
});

describe('a database that a remote backend serves', () => {
  const west = { 'x-lancedb-database': 'west' };
  const inner = { 'x-lancedb-database': 'inner' };

  it('is named from its root, in refusals of the backend as well', async () => {
    const missing = await ask('POST /v1/table/nothing/count_rows', west);
    expect(missing.status).toBe(404);
    expect(missing.text).not.toContain('west');
    expect((await ask('GET /v1/namespace/$/table/list', west)).json).toEqual({ tables: ['t'] });
  });

  it.each([
    ['GET /v1/table', {}],
    ['POST /v1/table/t/rename', { new_table_name: 'u', new_namespace_id: [] }],
  ])('is refused what the backend would read from another root: %s', async (line, body) => {
    const reply = await ask(line, west, body);
    expect([reply.status, reply.json['code']]).toEqual([406, 0]);
    expect(reply.json['error']).toMatch(
      /^\w+ is not forwarded to the backend west in a database: its names do not begin at the root of the database$/,
    );
    expect((await send(far.url, 'POST /v1/table/west$t/exists', { body: {} })).status).toBe(200);
  });

  it('has all of it where the roots are the same', async () => {
    const body = { new_table_name: 'u', new_namespace_id: [], id: ['t'] };
    expect((await ask('POST /v1/table/t/rename', inner, body)).status).toBe(200);
    expect((await send(far.url, 'POST /v1/table/inner$u/exists', { body: {} })).status).toBe(200);
  });
});
