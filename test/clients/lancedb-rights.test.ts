import type { Connection } from '@lancedb/lancedb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Service } from '../support/service.ts';
import { connectTo, errorOf, type Refusal, refusalIn } from './lancedb.ts';

/** The access groups that have an operation in the program so far. */
const GROUPS = ['list', 'describe', 'read', 'append', 'modify', 'create', 'drop'] as const;
type Group = (typeof GROUPS)[number];

/** Each subject holds one line of policy, save those whose names say more. */
const POLICY = [
  'p, role:admin, /**, *, allow',
  ...GROUPS.map((group) => `p, user:table-${group}, /prod/orders, ${group}, allow`),
  ...GROUPS.map((group) => `p, user:space-${group}, /prod/stage, ${group}, allow`),
  'p, user:replacer, /prod/orders, create, allow',
  'p, user:replacer, /prod/orders, drop, allow',
  'p, user:feller, /prod/stage/**, drop, allow',
  'p, user:counter, /prod/orders, CountTableRows, allow',
  'p, user:barred, /prod/**, *, allow',
  'p, user:barred, /prod/orders, append, deny',
  'p, user:hidden, /prod/orders, read, allow',
  'p, user:hidden, /prod/orders, describe, deny',
].join('\n');

const NAMES = [
  ...GROUPS.flatMap((group) => [`table-${group}`, `space-${group}`]),
  'replacer',
  'feller',
  'counter',
  'barred',
  'hidden',
];

let service: Service;
let admin: Connection;
const connections = new Map<string, Connection>();

beforeAll(async () => {
  service = await Service.start({ policy: `${POLICY}\n` });
  admin = await connectTo(service);
  await admin.createNamespace(['prod']);
  const keys = await Promise.all(NAMES.map((name) => service.key(name)));
  for (const [index, name] of NAMES.entries()) {
    connections.set(name, await connectTo(service, keys[index]));
  }
});

afterAll(() => service.stop());

/** The connection of a subject. */
function as(name: string): Connection {
  const connection = connections.get(name);
  if (connection === undefined) throw new Error(`there is no subject ${name}`);
  return connection;
}

const ROWS = [{ id: 1 }];
const PROD = ['prod'];
const STAGE = ['prod', 'stage'];

type Call = (db: Connection) => Promise<unknown>;

/** What can be done with a table that exists. */
const onTable: Readonly<Record<string, Call>> = {
  open: (db) => db.openTable('orders', PROD),
  versions: async (db) => (await db.openTable('orders', PROD)).listVersions(),
  stats: async (db) => (await db.openTable('orders', PROD)).stats(),
  count: async (db) => (await db.openTable('orders', PROD)).countRows(),
  query: async (db) => (await db.openTable('orders', PROD)).query().toArray(),
  append: async (db) => (await db.openTable('orders', PROD)).add(ROWS),
  replace: async (db) => (await db.openTable('orders', PROD)).add(ROWS, { mode: 'overwrite' }),
  create: (db) => db.createTable('orders', ROWS, PROD),
  ensure: (db) => db.createTable('orders', ROWS, PROD, { existOk: true }),
  overwrite: (db) => db.createTable('orders', ROWS, PROD, { mode: 'overwrite' }),
  drop: (db) => db.dropTable('orders', PROD),
};

/** What can be done with a namespace that exists and is empty. */
const onSpace: Readonly<Record<string, Call>> = {
  describe: (db) => db.describeNamespace(STAGE),
  list: (db) => db.listNamespaces(STAGE),
  names: (db) => db.tableNames(STAGE),
  create: (db) => db.createNamespace(STAGE),
  ensure: (db) => db.createNamespace(STAGE, { mode: 'exist_ok' }),
  overwrite: (db) => db.createNamespace(STAGE, { mode: 'overwrite' }),
  drop: (db) => db.dropNamespace(STAGE),
};

const seeing = ['open', 'versions', 'stats'];
const tableRights: Readonly<Record<Group, readonly string[]>> = {
  list: seeing,
  describe: seeing,
  read: [...seeing, 'count', 'query'],
  append: [...seeing, 'append'],
  modify: [...seeing, 'replace'],
  create: [...seeing, 'create', 'ensure'],
  drop: [...seeing, 'drop'],
};

const listing = ['list', 'names'];
const spaceRights: Readonly<Record<Group, readonly string[]>> = {
  list: ['describe', ...listing],
  describe: ['describe', ...listing],
  read: ['describe', ...listing],
  append: ['describe', ...listing],
  modify: ['describe', ...listing],
  create: ['describe', ...listing, 'create', 'ensure'],
  drop: ['describe', ...listing, 'drop'],
};

/** `done`, or why not: `exists`, `denied`. Any other refusal is thrown. */
async function outcomeOf(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (reason: Error) => reason,
  );
  if (error === undefined) return 'done';
  if (error.message.includes('already exists')) return 'exists';
  const refused = refusalIn(error);
  if (refused?.code === 15) return 'denied';
  throw error;
}

/** Makes the table and the namespace as they were before any test. */
async function reset(): Promise<void> {
  await admin.createTable('orders', ROWS, PROD, { existOk: true });
  await admin.createNamespace(STAGE, { mode: 'exist_ok' });
}

describe.each(GROUPS)('a subject that may only %s', (group) => {
  beforeEach(reset);

  it.each(Object.keys(onTable))('on a table: %s', async (name) => {
    const allowed = tableRights[group].includes(name);
    const expected = allowed ? (name === 'create' ? 'exists' : 'done') : 'denied';
    const db = as(`table-${group}`);
    expect(await outcomeOf(onTable[name]!(db))).toBe(expected);
  });

  it.each(Object.keys(onSpace))('on a namespace: %s', async (name) => {
    const allowed = spaceRights[group].includes(name);
    const expected = allowed ? (name === 'create' ? 'exists' : 'done') : 'denied';
    const db = as(`space-${group}`);
    expect(await outcomeOf(onSpace[name]!(db))).toBe(expected);
  });

  it('has no right on anything else', async () => {
    const db = as(`table-${group}`);
    await admin.createTable('others', ROWS, PROD, { existOk: true });
    expect(await outcomeOf(db.openTable('others', PROD))).toBe('denied');
    expect(await outcomeOf(db.createTable('fresh', ROWS, PROD))).toBe('denied');
    expect(await outcomeOf(db.createNamespace(['prod', 'fresh']))).toBe('denied');
    expect(await outcomeOf(db.dropTable('others', PROD))).toBe('denied');
  });
});

describe('modes', () => {
  beforeEach(reset);

  it('overwrite of a creation needs create and drop', async () => {
    expect(await outcomeOf(onTable['overwrite']!(as('replacer')))).toBe('done');
    for (const half of ['table-create', 'table-drop']) {
      expect(await outcomeOf(onTable['overwrite']!(as(half)))).toBe('denied');
    }
  });

  it('a creation is allowed where there is nothing yet', async () => {
    await admin.dropTable('orders', PROD);
    const table = await as('table-create').createTable('orders', ROWS, PROD);
    expect(await table.version()).toBe(1);
    await admin.dropNamespace(STAGE);
    expect(await as('space-create').createNamespace(STAGE)).toEqual({ properties: {} });
  });

  it('a cascading drop needs drop on everything below', async () => {
    await admin.createTable('t', ROWS, STAGE);
    const cascade: Call = (db) => db.dropNamespace(STAGE, { behavior: 'cascade' });
    const refused = await denialOf(cascade(as('space-drop')));
    expect(refused.error).toBe(
      'namespace /prod/stage holds something that the caller may not drop',
    );
    expect(await admin.tableNames(STAGE)).toEqual(['t']);
    expect(await outcomeOf(cascade(as('feller')))).toBe('done');
    expect((await admin.listNamespaces(PROD)).namespaces).toEqual([]);
  });

  it('a single operation is a right of its own', async () => {
    expect(await outcomeOf(onTable['count']!(as('counter')))).toBe('done');
    expect(await outcomeOf(onTable['query']!(as('counter')))).toBe('denied');
  });
});

describe('a deny', () => {
  beforeEach(reset);

  it('beats an allow', async () => {
    const db = as('barred');
    expect(await outcomeOf(onTable['query']!(db))).toBe('done');
    expect((await denialOf(onTable['append']!(db))).error).toBe(
      'user:barred may not InsertIntoTable on /prod/orders',
    );
    await admin.createTable('others', ROWS, PROD, { existOk: true });
    expect(await outcomeOf((await db.openTable('others', PROD)).add(ROWS))).toBe('done');
  });

  it('takes away even what another right brings along', async () => {
    expect((await denialOf(as('hidden').openTable('orders', PROD))).error).toBe(
      'user:hidden may not DescribeTable on /prod/orders',
    );
  });
});

async function denialOf(call: Promise<unknown>): Promise<Refusal> {
  const refused = refusalIn(await errorOf(call));
  expect(refused?.code).toBe(15);
  return refused!;
}
