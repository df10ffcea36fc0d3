import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { send, type Reply } from '../service/http.ts';
import { Service } from '../support/service.ts';
import { eventually } from '../support/eventually.ts';
import { makeTable } from './example-table.ts';

/** Calls of the protocol through the console, who changed a table, and who may do what with it. */

const POLICY = `p, role:admin, /**, *, allow
p, user:eve, /system/**, audit, allow
p, user:eve, /prod/**, describe, allow
p, user:bob, /system/**, audit, allow
p, user:ann, /prod/**, read, allow
p, role:writer, /prod/people, append, allow
`;

let service: Service;
let eve: string;
let bob: string;

beforeAll(async () => {
  service = await Service.start({ policy: POLICY });
  eve = await cookieOf(await service.keyByCommand('eve'));
  bob = await cookieOf(await service.keyByCommand('bob'));
  await service.keyByCommand('zoe', 'role:writer');
  await makeTable(service.url);
});

afterAll(() => service?.stop());

/** A session of a key. The gateway may not have read the key yet. */
async function cookieOf(key: string): Promise<string> {
  let cookie = '';
  await eventually(async () => {
    const { status, headers } = await send(service.url, 'POST /console/session', {
      key: null,
      body: JSON.stringify({ key }),
      headers: { 'content-type': 'application/json' },
    });
    expect(status).toBe(200);
    cookie = String(headers['set-cookie']).split(';')[0]!;
  });
  return cookie;
}

function call(
  line: string,
  cookie: string | null,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  const [method, path = ''] = line.split(' ');
  return send(service.url, `${method} /console/api/${path}`, {
    key: null,
    ...(method === 'POST' ? { body: '{}' } : {}),
    headers: {
      'content-type': 'application/json',
      ...(cookie === null ? {} : { cookie }),
      ...headers,
    },
  });
}

describe('a call of the protocol', () => {
  it('is answered and recorded as one of the caller', async () => {
    const { status, json, headers } = await call('POST v1/table/prod$people/describe', eve);
    expect([status, json]).toMatchObject([200, { table: 'people', version: 3 }]);
    const id = headers['x-arrowgate-decision-id'];
    const recordsOf = async () =>
      (await service.audit()).filter(({ decision_id }) => decision_id === id);
    await eventually(async () => expect(await recordsOf()).toHaveLength(2));
    const shared = { operation: 'DescribeTable', object: '/prod/people', subject: 'user:eve' };
    expect(await recordsOf()).toMatchObject([
      { phase: 'attempt', ...shared, rule: 'policy.csv:3', context: { console: 'catalog' } },
      { phase: 'outcome', ...shared, status: 200 },
    ]);
  });

  it('shows what the caller may see, and nothing else', async () => {
    const seen = await call('GET v1/namespace/$/list', eve);
    expect(seen.json).toMatchObject({ namespaces: ['prod'] });
    const hidden = await call('GET v1/namespace/$/list', bob);
    expect(hidden.json).toMatchObject({ namespaces: [] });
    expect((await call('POST v1/table/prod$people/describe', bob)).status).toBe(403);
    expect((await call('GET v1/table/prod$people/count_rows', eve)).status).toBe(403);
  });

  it.each([
    ['a change', 'POST v1/table/prod$people/drop', {}, 404],
    ['no operation', 'POST v1/nothing', {}, 404],
    ['another method', 'GET v1/table/prod$people/describe', {}, 404],
    ['another site', 'POST v1/table/prod$people/describe', { 'sec-fetch-site': 'cross-site' }, 403],
    ['another origin', 'POST v1/table/prod$people/describe', { origin: 'https://a.example' }, 403],
  ] as const)('refuses %s', async (_name, line, headers, status) => {
    expect((await call(line, eve, headers)).status).toBe(status);
    expect((await call('POST v1/table/prod$people/describe', eve)).status).toBe(200);
  });

  it('refuses callers without a session, and those whose session has ended', async () => {
    const line = 'POST v1/table/prod$people/describe';
    expect((await call(line, null)).status).toBe(401);
    const ended = await call(line, `arrowgate-console=${'a'.repeat(43)}`);
    expect([ended.status, ended.json]).toMatchObject([
      401,
      { error: 'the session has ended: sign in again' },
    ]);
    const id = ended.headers['x-arrowgate-decision-id'];
    await eventually(async () => {
      const records = (await service.audit()).filter(({ decision_id }) => decision_id === id);
      expect(records.at(-1)).toMatchObject({
        decision: 'unauthenticated',
        operation: 'DescribeTable',
        object: '/prod/people',
      });
    });
  });

  it('takes no context from a browser', async () => {
    const { headers } = await call('POST v1/table/prod$people/describe', eve, {
      'x-lance-ctx-console': 'none',
      'x-service-ctx-purpose': 'audit',
    });
    const id = headers['x-arrowgate-decision-id'];
    await eventually(async () => {
      const record = (await service.audit()).find(({ decision_id }) => decision_id === id);
      expect(record?.['context']).toEqual({ console: 'catalog' });
    });
  });
});

describe('the changes of a table', () => {
  it('are the commits in the log, the newest first', async () => {
    const { json } = await call('GET commits?object=/prod/people', eve);
    expect(json).toMatchObject({
      more: false,
      commits: [
        { operation: 'AlterTableAddColumns', commit: { version: 3, schemaChanged: true } },
        { operation: 'InsertIntoTable', commit: { version: 2, rowsAdded: 2 } },
        { operation: 'CreateTable', subject: 'user:admin', commit: { version: 1 } },
      ],
    });
    expect((await call('GET commits?object=/prod/peopl', eve)).json).toMatchObject({ commits: [] });
  });

  it('are refused for what is no object', async () => {
    expect((await call('GET commits?object=prod', eve)).status).toBe(400);
  });
});

describe('who can', () => {
  it('names subjects and keys with their lines', async () => {
    const { json } = await call('GET who?action=append&object=/prod/people', eve);
    expect(json['found']).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ subject: 'role:writer', key: null, rule: 'policy.csv:6' }),
        expect.objectContaining({ subject: 'user:zoe', rule: 'policy.csv:6' }),
      ]),
    );
    expect(JSON.stringify(json)).not.toContain('user:ann');
  });

  it.each(['who?object=/prod/people', 'who?action=fly&object=/a', 'who?action=read&object=a'])(
    'refuses %s',
    async (path) => {
      expect((await call(`GET ${path}`, eve)).status).toBe(400);
    },
  );
});
