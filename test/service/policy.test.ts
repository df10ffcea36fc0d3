import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operationNames, operations } from '../../src/protocol/operations/operations.ts';
import { conditionalModel } from '../policy/conditions.ts';
import { Service } from '../support/service.ts';
import { filesUnder } from './files.ts';
import { pictureOf } from './catalog-picture.ts';
import { send, type Reply, type Sent } from './http.ts';
import { goodRows } from './table-bodies.ts';

const POLICY = `
p, role:admin, /**, *, allow,
g, user:admin, role:admin

# Everything of her own; of the others' nothing but what a batch may name.
p, user:eve, /mine/**, *, allow,
p, user:eve, /mine/kept, drop, deny,
p, user:eve, /mine/kept, modify, deny,
p, user:eve, /mine/kept, describe, deny,
p, user:eve, /mine/kept, read, deny,
p, user:eve, /mine/kept, commit, deny,

p, user:lia, /lake/t, read, allow, ctx.purpose == audit
p, user:dan, /lake/**, read, allow,
p, user:dan, /lake/**, read, deny, ctx.cleared != yes
p, user:near, /lake/**, read, allow, ip in 127.0.0.0/8 and time in 00:00..24:00 UTC
p, user:far, /lake/**, *, allow, "ip in 10.0.0.0/8, 192.168.0.0/16"
p, user:bob, /lake/t, read, allow, branch == dev
p, user:bob, /lake/t, append, allow, branch == dev
p, user:bob, /lake/t, CreateTableBranch, allow, branch in (main, bobs)
p, user:ben, /lake/t, read, allow,
p, user:ben, /lake/t, read, deny, branch == dev
`;

/** What a running gateway writes without being asked. */
const OWN = /^(private|catalog\/processes)\//;

const principals = ['eve', 'lia', 'dan', 'near', 'far', 'bob', 'ben', 'nobody'] as const;

type Name = (typeof principals)[number];

let service: Service;
const keys = new Map<Name, string>();

beforeAll(async () => {
  service = await Service.start({ policy: POLICY, model: conditionalModel });
  for (const name of principals) keys.set(name, await service.key(name));
  for (const namespace of ['mine', 'theirs', 'lake', 'mine$inner']) {
    await made(`POST /v1/namespace/${namespace}/create`, { body: {} });
  }
  for (const table of ['mine$t', 'mine$kept', 'mine$inner$deep', 'theirs$t', 'lake$t']) {
    await made(`POST /v1/table/${table}/create`, { body: goodRows });
  }
  for (const table of ['mine$lance', 'theirs$lance']) {
    await made(`POST /v1/table/${table}/declare`, { body: {} });
  }
  await made('POST /v1/table/lake$t/branches/create', { body: { name: 'dev' } });
});

afterAll(() => service.stop());

async function made(line: string, sent: Sent): Promise<void> {
  const { status, text } = await send(service.url, line, sent);
  expect([line, status, text]).toEqual([line, 200, text]);
}

async function ask(name: Name, line: string, sent: Sent = {}): Promise<Reply> {
  return send(service.url, line, { ...sent, key: keys.get(name)! });
}

async function statusOf(name: Name, line: string, sent: Sent = {}): Promise<number> {
  return (await ask(name, line, sent)).status;
}

const QUERY = 'POST /v1/table/lake$t/query';
const some = { vector: [], k: 1, columns: ['id'] };

describe('a condition in a running gateway', () => {
  it('about the context is judged by the headers of the request', async () => {
    const audit = { 'x-service-ctx-Purpose': 'audit' };
    expect(await statusOf('lia', QUERY, { body: some, headers: audit })).toBe(200);
    const lance = { 'x-lance-ctx-purpose': 'audit' };
    expect(await statusOf('lia', QUERY, { body: some, headers: lance })).toBe(200);
    const other = { 'x-service-ctx-purpose': 'fun' };
    expect(await statusOf('lia', QUERY, { body: some, headers: other })).toBe(403);
    expect(await statusOf('lia', QUERY, { body: some })).toBe(403);
    const inBody = { ...some, context: { purpose: 'audit' } };
    expect(await statusOf('lia', QUERY, { body: inBody })).toBe(403);
  });

  it('of a deny is satisfied by what is missing', async () => {
    expect(await statusOf('dan', QUERY, { body: some })).toBe(403);
    const no = { 'x-service-ctx-cleared': 'no' };
    expect(await statusOf('dan', QUERY, { body: some, headers: no })).toBe(403);
    const yes = { 'x-service-ctx-cleared': 'yes' };
    expect(await statusOf('dan', QUERY, { body: some, headers: yes })).toBe(200);
  });

  it('about address and time is judged by those of the request', async () => {
    expect(await statusOf('near', QUERY, { body: some })).toBe(200);
    expect(await statusOf('far', QUERY, { body: some })).toBe(403);
    // Nobody is believed about an address who is no trusted proxy.
    const headers = { 'x-forwarded-for': '10.0.0.1' };
    expect(await statusOf('far', QUERY, { body: some, headers })).toBe(403);
  });

  it('about a branch is judged by the one of the query or of the body, and main where neither names one', async () => {
    const onDev = { body: { ...some, branch: 'dev' } };
    expect(await statusOf('bob', QUERY, onDev)).toBe(200);
    expect(await statusOf('bob', `${QUERY}?branch=dev`, { body: some })).toBe(200);
    for (const branch of [undefined, 'main', '', 'none']) {
      expect(await statusOf('bob', QUERY, { body: { ...some, branch } })).toBe(403);
    }
    expect(await statusOf('bob', `${QUERY}?branch=main`, { body: some })).toBe(403);
    const plan = { body: { query: { ...some, branch: 'dev' } } };
    expect(await statusOf('bob', 'POST /v1/table/lake$t/explain_plan', plan)).toBe(200);
    const insert = 'POST /v1/table/lake$t/insert';
    expect(await statusOf('bob', insert, { body: goodRows })).toBe(403);
    expect(await statusOf('bob', `${insert}?branch=dev`, { body: goodRows })).toBe(200);
    expect(await statusOf('ben', QUERY, { body: some })).toBe(200);
    expect(await statusOf('ben', QUERY, onDev)).toBe(403);
    expect(await statusOf('ben', `${QUERY}?branch=dev`, { body: some })).toBe(403);
  });

  it('about a branch is judged by each branch that a body names', async () => {
    const create = 'POST /v1/table/lake$t/branches/create';
    expect(await statusOf('bob', create, { body: { name: 'bobs' } })).toBe(200);
    expect(await statusOf('bob', create, { body: { name: 'theirs' } })).toBe(403);
    const fromDev = { body: { name: 'bobs', from_branch: 'dev' } };
    expect(await statusOf('bob', create, fromDev)).toBe(403);
  });

  it('decides what a listing shows', async () => {
    const listed = async (name: Name, headers: Sent['headers'] = {}) =>
      (await ask(name, 'GET /v1/namespace/lake/table/list', { headers })).json['tables'];
    expect(await listed('near')).toEqual(['t']);
    expect(await listed('far')).toEqual([]);
    expect(await listed('lia')).toEqual([]);
    expect(await listed('lia', { 'x-service-ctx-purpose': 'audit' })).toEqual(['t']);
    expect(await listed('bob')).toEqual(['t']);
    const namespaces = async (name: Name) =>
      (await ask(name, 'GET /v1/namespace/$/list')).json['namespaces'];
    expect(await namespaces('near')).toEqual(['lake']);
    expect(await namespaces('far')).toEqual([]);
  });

  it('is named with its line in the audit record', async () => {
    const refused = await ask('ben', `${QUERY}?branch=dev`, { body: some });
    const id = refused.headers['x-arrowgate-decision-id'];
    const line = POLICY.split('\n').indexOf('p, user:ben, /lake/t, read, deny, branch == dev') + 1;
    await expect
      .poll(async () => (await service.audit()).find((record) => record['decision_id'] === id))
      .toMatchObject({ decision: 'deny', rule: `policy.csv:${line}`, branch: 'dev' });
  });
});

/** Requests that are allowed at their route, and not for what their body names: 403 each. */
const bodies: readonly (readonly [string, string, object])[] = [
  [
    'one entry of a batch of versions',
    'POST /v1/table/version/batch-create',
    {
      entries: [
        { id: ['mine', 'lance'], version: 1, manifest_path: 'a' },
        { id: ['theirs', 'lance'], version: 1, manifest_path: 'a' },
      ],
    },
  ],
  ...Object.entries({
    declare_table: {},
    deregister_table: {},
    delete_table_versions: { ranges: [{ start_version: 1, end_version: 2 }] },
    create_table_version: { version: 1, manifest_path: 'a' },
  }).map(([step, fields]): [string, string, object] => [
    `the ${step} of a batch`,
    'POST /v1/table/batch-commit',
    {
      operations: [
        { declare_table: { id: ['mine', 'batched'] } },
        { [step]: { id: ['theirs', 'lance'], ...fields } },
      ],
    },
  ]),
  [
    'the target of a rename',
    'POST /v1/table/mine$t/rename',
    { new_table_name: 'moved', new_namespace_id: ['theirs'] },
  ],
  [
    'the target of a rename that exists',
    'POST /v1/table/mine$t/rename',
    { new_table_name: 't', new_namespace_id: ['theirs'] },
  ],
  ['the target in the route of a rename', 'POST /v1/table/mine$t/rename/to/theirs$moved', {}],
  [
    'a table that a mode would replace',
    'POST /v1/table/mine$kept/register',
    { location: 'elsewhere', mode: 'overwrite' },
  ],
  [
    'a namespace that a mode would show',
    'POST /v1/namespace/mine$kept/create',
    { mode: 'exist_ok' },
  ],
  [
    'a namespace that a mode would replace',
    'POST /v1/namespace/mine$kept/create',
    { mode: 'overwrite' },
  ],
  [
    'a table below a namespace that is dropped with all',
    'POST /v1/namespace/mine/drop',
    { behavior: 'cascade' },
  ],
  ['credentials to write', 'POST /v1/table/mine$kept/declare', { vend_credentials: true }],
];

describe('what only a body names is decided before anything changes', () => {
  let before: unknown;
  const state = async () => [
    await pictureOf(service.url),
    (await filesUnder(service.data)).filter(({ path }) => !OWN.test(path)),
  ];
  beforeAll(async () => {
    before = await state();
  });

  it.each(bodies)('%s', async (_, line, body) => {
    const { status, json, headers } = await ask('eve', line, { body });
    expect([status, json['code']]).toEqual([403, 15]);
    expect(headers['x-arrowgate-decision']).toBe('deny');
    expect(await state()).toEqual(before);
  });

  it.each([
    ['POST /v1/table/mine$kept/create?mode=overwrite', goodRows],
    ['POST /v1/table/mine$kept/create?mode=exist_ok', goodRows],
    ['POST /v1/table/mine$kept/insert?mode=overwrite', goodRows],
  ])('a mode in the query: %s', async (line, body) => {
    expect(await statusOf('eve', line, { body })).toBe(403);
  });

  it('credentials to read a table that may only be described', async () => {
    const policy = { vend_credentials: true };
    expect(await statusOf('eve', 'POST /v1/table/mine$t/describe', { body: policy })).toBe(200);
    expect(await statusOf('eve', 'POST /v1/table/mine$kept/describe', { body: policy })).toBe(403);
  });

  it('the sources of a materialised view are read by nobody: there are none', async () => {
    const body = { kind: 'sql', source_query: 'select * from theirs.t', output_schema: '' };
    expect(await statusOf('eve', 'POST /v1/materialized_view/mine$view/create', { body })).toBe(
      406,
    );
    expect(await statusOf('eve', 'POST /v1/materialized_view/theirs$v/create', { body })).toBe(403);
    expect(await state()).toEqual(before);
  });
});

describe('a denied caller learns nothing of what exists', () => {
  const rows = operationNames.flatMap((operation) =>
    operations[operation].routes
      .filter(({ path }) => path.includes('{id}') && !path.includes('/transaction/'))
      .map(({ method, path }): [string, string, string] => [operation, method, path]),
  );

  it.each(rows)('%s: %s %s', async (operation, method, path) => {
    const onTable = operations[operation as keyof typeof operations].object === 'table';
    const answers = [];
    for (const id of onTable ? ['theirs$t', 'theirs$x'] : ['theirs', 'noless']) {
      const route = path.replace('{id}', id).replaceAll(/\{\w+\}/g, 'other');
      const { status, text, headers } = await ask('nobody', `${method} ${route}`);
      answers.push({
        status,
        names: Object.keys(headers).sort(),
        reason: headers['x-arrowgate-reason'],
        text: text
          .replaceAll(headers['x-request-id'] as string, 'ID')
          .replaceAll(`/${id.replace('$', '/')}`, 'OBJECT'),
      });
    }
    expect(answers[1]).toEqual(answers[0]);
    const isListing = operations[operation as keyof typeof operations].access === 'list';
    expect(answers[0]!.status).toBe(isListing ? 200 : 403);
  });

  it('nor from the target of a rename, or the tables of a batch', async () => {
    const shapes = [];
    for (const name of ['t', 'x']) {
      const rename = { new_table_name: name, new_namespace_id: ['theirs'] };
      const moved = await ask('eve', 'POST /v1/table/mine$t/rename', { body: rename });
      const operations = [{ deregister_table: { id: ['theirs', name] } }];
      const batch = await ask('eve', 'POST /v1/table/batch-commit', { body: { operations } });
      shapes.push(
        [moved, batch].map(({ status, json }) => [
          status,
          json['code'],
          String(json['error']).replace(`/theirs/${name}`, 'OBJECT'),
        ]),
      );
    }
    expect(shapes[1]).toEqual(shapes[0]);
    expect(shapes[0]).toEqual([
      [403, 15, 'user:eve may not CreateTable on OBJECT'],
      [403, 15, 'user:eve may not DeregisterTable on OBJECT'],
    ]);
  });
});
