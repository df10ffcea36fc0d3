import { join } from 'node:path';
import { Int64, vectorFromArray } from 'apache-arrow';
import type { OperationName } from '../../../src/protocol/operations/operation-name.ts';
import type { TestEngine } from '../../support/engine.ts';
import { lanceTable } from '../../support/lance-table.ts';
import { ask, type Sent } from '../../support/request.ts';
import { streamOf } from '../../support/table-client.ts';

/** A change as a client sends it. */
export interface SentChange {
  readonly line: string;
  readonly body: object | Uint8Array;
}

/** Rows with a column `n`. */
export function numbers(...values: readonly bigint[]): Uint8Array {
  return streamOf({ n: vectorFromArray(values, new Int64()) });
}

/** A namespace, and in it the table `a$t` with a tag, a branch, four versions and a job whose id it gives. */
export async function plantAll(engine: TestEngine): Promise<string> {
  const post = (path: string, sent: Sent = {}) => ask(engine.backend, `POST ${path}`, sent);
  await post('/v1/namespace/a/create');
  await post('/v1/namespace/empty/create');
  await post('/v1/table/a$t/create', { body: numbers(1n, 2n, 3n) });
  await post('/v1/table/a$t/insert', { body: numbers(4n) });
  await post('/v1/table/a$t/insert', { body: numbers(5n) });
  await post('/v1/table/a$t/add_columns', {
    body: { new_columns: [{ name: 'm', expression: 'n' }] },
  });
  await post('/v1/table/a$t/tags/create', { body: { tag: 'first', version: 1 } });
  await post('/v1/table/a$t/branches/create', { body: { name: 'side' } });
  await lanceTable(join(engine.data, 'allowed', 'set'));
  const location = join(engine.data, 'allowed', 'origin');
  const headers = { 'x-service-table-location': location };
  await post('/v1/table/a$origin/create', { body: numbers(6n), headers });
  await post('/v1/table/a$j/create', { body: numbers(1n) });
  await post('/v1/table/a$j/add_columns', {
    body: { new_columns: [{ name: 'c', computed: 'n' }] },
  });
  const { json } = await post('/v1/table/a$j/backfill_column', { body: { column: 'c' } });
  return String(Object(json)['job_id']);
}

const t = '/v1/table/a$t';

/** One change for each operation that is built; each can be made of what `plantAll` made. */
export function changes(
  data: string,
  job: string,
): Readonly<Partial<Record<OperationName, SentChange>>> {
  const change = (path: string, body: object | Uint8Array = {}): SentChange => ({
    line: `POST ${path}`,
    body,
  });
  const both = streamOf({
    n: vectorFromArray([1n, 9n], new Int64()),
    m: vectorFromArray([7n, 7n], new Int64()),
  });
  return {
    CreateTableIndex: change(`${t}/create_index`, { column: 'n', index_type: 'BTREE' }),
    CreateTableScalarIndex: change(`${t}/create_scalar_index`, {
      column: 'n',
      index_type: 'BITMAP',
    }),
    CreateNamespace: change('/v1/namespace/a$b/create', { properties: { p: '1' } }),
    DropNamespace: change('/v1/namespace/empty/drop'),
    CreateTable: change('/v1/table/a$new/create?mode=overwrite', numbers(7n)),
    CloneTable: change('/v1/table/a$clone/clone', {
      source_location: join(data, 'allowed', 'origin'),
    }),
    DeclareTable: change('/v1/table/a$declared/declare', { properties: { p: '1' } }),
    RegisterTable: change('/v1/table/a$set/register', { location: join(data, 'allowed', 'set') }),
    DropTable: change(`${t}/drop`),
    DeregisterTable: change(`${t}/deregister`),
    RenameTable: change(`${t}/rename`, { new_table_name: 'u' }),
    RestoreTable: change(`${t}/restore`, { version: 2 }),
    InsertIntoTable: change(`${t}/insert`, both),
    MergeInsertIntoTable: change(
      `${t}/merge_insert?on=n&when_matched_update_all=true&when_not_matched_insert_all=true`,
      both,
    ),
    UpdateTable: change(`${t}/update`, { updates: [['n', 'n + 1']] }),
    DeleteFromTable: change(`${t}/delete`, { predicate: 'n > 2' }),
    AlterTableAddColumns: change(`${t}/add_columns`, {
      new_columns: [{ name: 'k', expression: 'n + 1' }],
    }),
    AlterTableAlterColumns: change(`${t}/alter_columns`, {
      alterations: [{ path: 'm', rename: 'o' }],
    }),
    AlterTableDropColumns: change(`${t}/drop_columns`, { columns: ['m'] }),
    UpdateFieldMetadata: change(`${t}/update_field_metadata`, {
      updates: [{ path: 'n', metadata: { unit: 'm' } }],
    }),
    UpdateTableSchemaMetadata: change(`${t}/schema_metadata/update`, { owner: 'ann' }),
    CreateTableTag: change(`${t}/tags/create`, { tag: 'second', version: 2 }),
    UpdateTableTag: change(`${t}/tags/update`, { tag: 'first', version: 3 }),
    DeleteTableTag: change(`${t}/tags/delete`, { tag: 'first' }),
    CreateTableBranch: change(`${t}/branches/create`, { name: 'other' }),
    DeleteTableBranch: change(`${t}/branches/delete`, { name: 'side' }),
    AlterTableBackfillColumns: change('/v1/table/a$j/backfill_column', { column: 'c' }),
    AlterTransaction: change(`/v1/transaction/${job}/alter`, {
      actions: [{ setPropertyAction: { key: 'p', value: '1' } }],
    }),
    CancelJob: change('/v1/jobs/cancel', { job_id: job }),
    BatchDeleteTableVersions: change(`${t}/version/delete`, {
      ranges: [{ start_version: 2, end_version: 3 }],
    }),
  };
}
