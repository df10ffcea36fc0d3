import { Float64, Int64 } from 'apache-arrow';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { Service, type AuditLine } from '../support/service.ts';
import { send, sendGranted } from './http.ts';
import { streamOf } from './table-bodies.ts';

/* What the log says of changes: how many rows, which columns, and what was asked. */

let service: Service;

afterEach(() => service.stop());

const INDEX = { column: 'id', index_type: 'BTREE' };
const RANGES = { ranges: [{ start_version: 1, end_version: 2 }] };

function numbers(count: number, from = 0): Uint8Array {
  const ids = Array.from({ length: count }, (_, at) => BigInt(from + at));
  return streamOf({
    id: { type: new Int64(), values: ids },
    price: { type: new Float64(), values: ids.map(Number) },
  });
}

/** The outcome of the newest request of an operation. */
async function outcomeOf(operation: string): Promise<AuditLine> {
  const records = await service.audit();
  return records.findLast((one) => one['operation'] === operation && one['phase'] === 'outcome')!;
}

async function commitOf(line: string, sent: object, operation: string): Promise<unknown> {
  await sendGranted(service.url, `POST /v1/table/t/${line}`, sent);
  return (await outcomeOf(operation))['commit'];
}

describe('the record of a change', () => {
  it('says what changed, and what was asked', async () => {
    service = await Service.start();
    const made = await commitOf('create', { body: numbers(100) }, 'CreateTable');
    expect(made).toMatchObject({
      kind: 'create',
      rows_added: 100,
      rows_changed: 0,
      statement: null,
    });
    const { table } = made as { readonly table: string };
    expect(table).toMatch(/^[0-9a-f-]{36}$/);

    const updates = [['price', 'price * 2']];
    const update = { body: { updates, predicate: 'id < 30' } };
    expect(await commitOf('update', update, 'UpdateTable')).toEqual({
      kind: 'update',
      base_version: 1,
      version: 2,
      rows_added: 0,
      rows_removed: 0,
      schema_changed: false,
      rules: [],
      table,
      rows_changed: 30,
      columns: ['price'],
      statement: 'update set price = price * 2 where id < 30',
    });

    const remove = { body: { predicate: 'id >= 90' } };
    expect(await commitOf('delete', remove, 'DeleteFromTable')).toMatchObject({
      rows_added: 0,
      rows_changed: 0,
      rows_removed: 10,
      columns: [],
      statement: 'delete where id >= 90',
      table,
    });

    const merge =
      'merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true';
    expect(await commitOf(merge, { body: numbers(20, 80) }, 'MergeInsertIntoTable')).toMatchObject({
      rows_added: 10,
      rows_changed: 10,
      rows_removed: 0,
      columns: ['id', 'price'],
      statement: 'merge on id, when_matched_update_all true, when_not_matched_insert_all true',
    });

    const add = { body: { new_columns: [{ name: 'twice', expression: 'price * 2' }] } };
    expect(await commitOf('add_columns', add, 'AlterTableAddColumns')).toMatchObject({
      rows_added: 0,
      rows_changed: 0,
      schema_changed: true,
      columns: ['twice'],
      statement: 'add columns twice expression price * 2',
    });
    const drop = { body: { columns: ['twice'] } };
    expect(await commitOf('drop_columns', drop, 'AlterTableDropColumns')).toMatchObject({
      schema_changed: true,
      rows_changed: 0,
      columns: ['twice'],
      statement: 'drop columns twice',
    });
    expect(
      await commitOf('insert?mode=overwrite', { body: numbers(5) }, 'InsertIntoTable'),
    ).toMatchObject({ kind: 'overwrite', rows_added: 5, rows_removed: 100, table });
    expect(await commitOf('restore', { body: { version: 1 } }, 'RestoreTable')).toMatchObject({
      rows_added: 100,
      rows_removed: 5,
      rows_changed: 0,
      table,
    });
    expect(await commitOf('drop', { body: {} }, 'DropTable')).toMatchObject({
      kind: 'drop',
      rows_removed: 100,
      table,
    });
    expect(await service.command('audit', 'verify')).toMatchObject({ code: 0 });
  });

  it('has the id of the table that it is about, whatever was done to it', async () => {
    service = await Service.start();
    const made = await commitOf('create', { body: numbers(3) }, 'CreateTable');
    const { table } = made as { readonly table: string };
    const acts: readonly (readonly [string, object, string, string])[] = [
      ['tags/create', { tag: 'v', version: 1 }, 'CreateTableTag', 'create_tag'],
      ['tags/update', { tag: 'v', version: 1 }, 'UpdateTableTag', 'update_tag'],
      ['tags/delete', { tag: 'v' }, 'DeleteTableTag', 'delete_tag'],
      ['branches/create', { name: 'b' }, 'CreateTableBranch', 'create_branch'],
      ['branches/delete', { name: 'b' }, 'DeleteTableBranch', 'delete_branch'],
      ['create_scalar_index', INDEX, 'CreateTableScalarIndex', 'create_index'],
      ['version/delete', RANGES, 'BatchDeleteTableVersions', 'delete_versions'],
      ['rename', { new_table_name: 'u' }, 'RenameTable', 'rename'],
    ];
    for (const [line, body, operation, kind] of acts) {
      expect(await commitOf(line, { body }, operation), line).toMatchObject({ kind, table });
    }
    const declared = await commitOf('declare', { body: {} }, 'DeclareTable');
    const { table: second } = declared as { readonly table: string };
    expect(second).toMatch(/^[0-9a-f-]{36}$/);
    const gone = await commitOf('deregister', { body: {} }, 'DeregisterTable');
    expect(gone).toMatchObject({ kind: 'deregister', table: second });
  });

  it('has what a batch did, and the id of a table that it was about alone', async () => {
    service = await Service.start();
    const declare = (...ids: readonly string[]) => ({
      body: { operations: ids.map((id) => ({ declare_table: { id: [id] } })) },
    });
    const batch = async (sent: object) => {
      await sendGranted(service.url, 'POST /v1/table/batch-commit', sent);
      return (await outcomeOf('BatchCommitTables'))['commit'];
    };
    const nothing = { rows_added: 0, rows_removed: 0, rows_changed: 0, columns: [] };
    expect(await batch(declare('a'))).toMatchObject({
      ...nothing,
      kind: 'declare',
      table: expect.stringMatching(/^[0-9a-f-]{36}$/),
      statement: null,
    });
    expect(await batch(declare('b', 'c'))).toMatchObject({
      ...nothing,
      kind: 'batch',
      table: null,
      statement: null,
    });
  });

  it.each([
    ['digest', /^sha256:[0-9a-f]{64}$/],
    ['text', /^update set price = 1 where id IN \(0, .{1990,2030}…$/],
  ])('has statements as audit.statements says: %s', async (form, expected) => {
    service = await Service.start({ config: `audit: { statements: ${form} }\n` });
    await commitOf('create', { body: numbers(10) }, 'CreateTable');
    const predicate = `id IN (${Array.from({ length: 2000 }, (_, at) => at).join(', ')})`;
    const update = { body: { updates: [['price', '1']], predicate } };
    const { statement } = (await commitOf('update', update, 'UpdateTable')) as {
      readonly statement: string;
    };
    expect(statement).toMatch(expected);
    expect(Buffer.byteLength(statement)).toBeLessThanOrEqual(2048);
  });

  it('has no statement where audit.statements is off', async () => {
    service = await Service.start({ config: 'audit: { statements: off }\n' });
    await commitOf('create', { body: numbers(10) }, 'CreateTable');
    const update = { body: { updates: [['price', '1']] } };
    expect(await commitOf('update', update, 'UpdateTable')).toMatchObject({
      rows_changed: 10,
      statement: null,
    });
  });
});

describe('the record of a request that was not granted', () => {
  it('says that a commit rule refused it, and which limit did', async () => {
    service = await Service.start({
      commits: 'rules:\n  - { name: few, tables: ["/**"], require: { max_rows: 5 } }\n',
      limits:
        'limits:\n  - { name: slowly, operations: [CountTableRows], rate: 1/h, burst: 1, per: all }\n',
    });
    const refused = await send(service.url, 'POST /v1/table/t/create', { body: numbers(6) });
    expect(refused.status).toBe(400);
    expect(await outcomeOf('CreateTable')).toMatchObject({
      decision: 'refused',
      rule: 'commits.yaml:2',
      commit: { kind: 'refused', rules: ['few'], rows_added: 0, version: null, statement: null },
    });
    await sendGranted(service.url, 'POST /v1/table/t/create', { body: numbers(5) });
    const merge = 'POST /v1/table/t/merge_insert?on=id&when_not_matched_insert_all=true';
    expect((await send(service.url, merge, { body: numbers(12) })).status).toBe(400);
    expect(await outcomeOf('MergeInsertIntoTable')).toMatchObject({
      decision: 'refused',
      commit: { kind: 'refused', statement: 'merge on id, when_not_matched_insert_all true' },
    });
    const count = () => send(service.url, 'POST /v1/table/t/count_rows', { body: {} });
    await count();
    expect((await count()).status).toBe(429);
    await eventually(async () => {
      expect(await outcomeOf('CountTableRows')).toMatchObject({
        decision: 'limited',
        rule: 'limits.yaml:slowly',
      });
    });
    const found = await service.command('audit', 'search', '--decision', 'refused', '--json');
    expect(found.out.trim().split('\n')).toHaveLength(2);
    const replayed = await service.command(
      'policy',
      'replay',
      '--data',
      service.data,
      '--policies',
      service.policies,
    );
    expect(replayed).toMatchObject({ code: 0 });
  });

  it('hides credentials in the context by default', async () => {
    service = await Service.start();
    const names = ['password', 'passwd', 'authorization', 'my-credentials', 'cookie', 'plain'];
    const headers = Object.fromEntries(names.map((name) => [`x-service-ctx-${name}`, 'hushhush']));
    await send(service.url, 'POST /v1/table/t/describe', { body: {}, headers });
    await eventually(async () => {
      const { context } = await outcomeOf('DescribeTable');
      expect(context).toEqual(
        Object.fromEntries(
          names.map((name) => [name, name === 'plain' ? 'hushhush' : '[redacted]']),
        ),
      );
    });
  });
});

it('the record of a reload has the digests, and how many lines came and went', async () => {
  service = await Service.start({
    policy: 'p, role:admin, /**, *, allow\np, *, /a, read, allow\n',
  });
  await writeFile(
    join(service.policies, 'policy.csv'),
    'p, role:admin, /**, *, allow\np, *, /b, read, allow\np, *, /c, read, allow\n',
  );
  await eventually(async () => {
    const reload = await outcomeOf('PolicyReload');
    expect(reload).toMatchObject({ context: { lines_added: '2', lines_removed: '1' } });
    const { digest, previous } = reload['context'] as Readonly<Record<string, string>>;
    expect(digest).toBe(reload['policy_digest']);
    expect(previous).not.toBe(digest);
  });
});
