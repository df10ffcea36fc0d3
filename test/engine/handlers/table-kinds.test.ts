import { join } from 'node:path';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../src/protocol/json.ts';
import type { OperationName } from '../../../src/protocol/operations/operation-name.ts';
import {
  namesObject,
  operationNames,
  operations,
} from '../../../src/protocol/operations/operations.ts';
import { refusalOf, streamOf } from '../../support/engine-table.ts';
import { freshEngine, type TestEngine } from '../../support/engine.ts';
import { lanceTable } from '../../support/lance-table.ts';
import { ask, type Sent } from '../../support/request.ts';

/**
 * Which operation works on which kind of table: all pairs. Each
 * is asked of a fresh table of each kind.
 */

let engine: TestEngine;

beforeAll(async () => {
  engine = await freshEngine();
});

afterAll(() => engine.close());

/** A part of an answer, or the refusal. */
type Told = JsonValue | { readonly refused: string };

interface Row {
  readonly operation: OperationName;
  /** What follows the table's id; `{place}` is a folder for the table to lie in. */
  readonly action: string;
  readonly sent: () => Sent;
  readonly declared: Told;
  readonly engine: Told;
  readonly lance: Told;
}

const rows = () => streamOf({ n: vectorFromArray([1n, 2n], new Int64()) });
const json =
  (body: object): (() => Sent) =>
  () => ({ body });
const nothing = (): Sent => ({});
const arrow = (): Sent => ({ body: rows() });

const works = {};
const empty = { refused: '19 table /{id} is declared and has no data' };
const elsewhere = {
  refused: '0 table /{id} is written by Lance clients: open it at its location',
};
const taken = { refused: '5 table /{id} already exists' };

/** An operation on the rows or the columns. */
function onData(operation: OperationName, action: string, sent: () => Sent, answer: Told): Row {
  return { operation, action, sent, declared: empty, engine: answer, lance: elsewhere };
}

/** An operation on versions, which the catalog knows for each kind of table. */
function onVersions(operation: OperationName, action: string, sent: () => Sent, answer: Told): Row {
  return { operation, action, sent, declared: empty, engine: answer, lance: answer };
}

/** An operation that needs no data. */
function onEvery(operation: OperationName, action: string, sent: () => Sent, answer: Told): Row {
  return { operation, action, sent, declared: answer, engine: answer, lance: answer };
}

const noRows = { num_rows: 0, total_bytes: 0, num_indices: 0 };

const table: readonly Row[] = [
  {
    ...onEvery('DescribeTable', 'describe', nothing, works),
    declared: { is_only_declared: true, location: '{place}', managed_versioning: true },
    engine: { is_only_declared: false, version: 1, managed_versioning: true },
    lance: { is_only_declared: false, version: 1, location: '{place}', managed_versioning: true },
  },
  {
    ...onEvery('ListTableVersions', 'version/list', nothing, { versions: [] }),
    engine: { versions: [{ version: 1, manifest_path: 'versions/00000000000000000001.arrow' }] },
    lance: {
      versions: [{ version: 1, manifest_path: '{key}/_versions/18446744073709551614.manifest' }],
    },
  },
  {
    ...onEvery('DescribeTableVersion', 'version/describe', nothing, {
      refused: '11 the table has no version',
    }),
    engine: { version: { version: 1 } },
    lance: { version: { version: 1 } },
  },
  {
    ...onEvery('CreateTableVersion', 'version/create', json({ version: 2, manifest_path: 'x' }), {
      refused: '13 manifest_path "x" does not lie in the folder _versions of the table',
    }),
    engine: {
      refused:
        "19 table /{id} is written by this service: its versions come from insert, update and the other operations on its rows, not from a client's manifest",
    },
  },
  onVersions('BatchDeleteTableVersions', 'version/delete', json({ ranges: [] }), {
    deleted_count: 0,
  }),
  onData('QueryTable', 'query', json({ vector: [], k: 10 }), null),
  onData('CountTableRows', 'count_rows', nothing, 2),
  onData('ExplainTableQueryPlan', 'explain_plan', json({ vector: [], k: 1 }), expect.any(String)),
  onData('AnalyzeTableQueryPlan', 'analyze_plan', json({ vector: [], k: 1 }), expect.any(String)),
  onData('InsertIntoTable', 'insert', arrow, { version: 2 }),
  onData('MergeInsertIntoTable', 'merge_insert?on=n&when_matched_update_all=true', arrow, {
    version: 2,
  }),
  onData('UpdateTable', 'update', json({ updates: [['n', 'n + 1']] }), { version: 2 }),
  onData('DeleteFromTable', 'delete', json({ predicate: 'n = 1' }), { version: 2 }),
  onData(
    'AlterTableAddColumns',
    'add_columns',
    json({ new_columns: [{ name: 'x', expression: 'n' }] }),
    { version: 2 },
  ),
  onData(
    'AlterTableAlterColumns',
    'alter_columns',
    json({ alterations: [{ path: 'n', rename: 'm' }] }),
    { version: 2 },
  ),
  onData('AlterTableDropColumns', 'drop_columns', json({ columns: ['n'] }), {
    refused: '13 a table must keep at least one column',
  }),
  onData(
    'UpdateFieldMetadata',
    'update_field_metadata',
    json({ updates: [{ path: 'n', metadata: { a: 'b' } }] }),
    { version: 2 },
  ),
  onData('UpdateTableSchemaMetadata', 'schema_metadata/update', json({ a: 'b' }), { a: 'b' }),
  onVersions('ListTableTags', 'tags/list', nothing, { tags: {} }),
  onVersions('CreateTableTag', 'tags/create', json({ tag: 'v', version: 1 }), works),
  onVersions('CreateTableTag', 'tags/create', json({ tag: 'v', version: 2 }), {
    refused: '11 the table has no version 2',
  }),
  onVersions('CreateTableTag', 'tags/create', json({ tag: 'v', version: 1, branch: 'b' }), {
    refused: '22 the table has no branch "b"',
  }),
  {
    ...onEvery('ListTableVersions', 'version/list?branch=b', nothing, {
      refused: '22 the table has no branch "b"',
    }),
  },
  onVersions('UpdateTableTag', 'tags/update', json({ tag: 'v', version: 1 }), {
    refused: '8 the table has no tag "v"',
  }),
  onVersions('DeleteTableTag', 'tags/delete', json({ tag: 'v' }), {
    refused: '8 the table has no tag "v"',
  }),
  onVersions('GetTableTagVersion', 'tags/version', json({ tag: 'v' }), {
    refused: '8 the table has no tag "v"',
  }),
  onVersions('ListTableBranches', 'branches/list', nothing, { branches: {} }),
  {
    ...onData('CreateTableBranch', 'branches/create', json({ name: 'b' }), works),
    lance: {
      refused:
        '0 table /{id} is written by Lance clients: a branch begins when one of them commits to it',
    },
  },
  onVersions('DeleteTableBranch', 'branches/delete', json({ name: 'b' }), {
    refused: '22 the table has no branch "b"',
  }),
  {
    ...onData('RestoreTable', 'restore', json({ version: 1 }), works),
    lance: {
      refused:
        '0 table /{id} is written by Lance clients: one of them restores a version, with a commit of its own',
    },
  },
  {
    ...onEvery('ListTableIndices', 'index/list', nothing, { indexes: [] }),
    lance: elsewhere,
  },
  onData('DescribeTableIndexStats', 'index/i/stats', nothing, {
    refused: '6 table /{id} has no index "i"',
  }),
  onData('DropTableIndex', 'index/i/drop', nothing, {
    refused: '6 table /{id} has no index "i"',
  }),
  {
    ...onEvery('GetTableStats', 'stats', nothing, { num_rows: 2 }),
    declared: { ...noRows, fragment_stats: { num_fragments: 0, lengths: { max: 0 } } },
    lance: { num_rows: 1, total_bytes: 100, num_indices: 0, fragment_stats: { num_fragments: 1 } },
  },
  onEvery('TableExists', 'exists', nothing, null),
  {
    ...onEvery('TableExists', 'exists', json({ version: 1 }), null),
    declared: { refused: '11 the table has no version 1' },
  },
  onEvery('RenameTable', 'rename', json({ new_table_name: 'renamed' }), works),
  onEvery('RenameTable', 'rename/to/elsewhere', nothing, works),
  onEvery('DropTable', 'drop', nothing, { id: ['{id}'], properties: { kind: 'mine' } }),
  {
    ...onEvery('DeregisterTable', 'deregister', nothing, works),
    declared: { id: ['{id}'], location: '{place}', properties: { kind: 'mine' } },
    engine: { id: ['{id}'], properties: { kind: 'mine' } },
    lance: { id: ['{id}'], location: '{place}', properties: { kind: 'mine' } },
  },
  onEvery('DeclareTable', 'declare', nothing, taken),
  onEvery('RegisterTable', 'register', json({ location: '/x' }), taken),
  onEvery('CreateTable', 'create', arrow, taken),
  {
    ...onEvery('CreateTable', 'create?mode=exist_ok', arrow, { location: '{place}' }),
    engine: { version: 1 },
  },
  {
    ...onEvery('CreateTable', 'create?mode=overwrite', arrow, { version: 2 }),
    declared: { version: 1, properties: { kind: 'mine' } },
    lance: elsewhere,
  },
];

const kinds = ['declared', 'engine', 'lance'] as const;
const asked = table.flatMap((row) => kinds.map((kind) => ({ ...row, kind, told: row[kind] })));

describe('a table of each kind', () => {
  it.each(asked)(
    'that is $kind is asked: $operation, $action',
    async ({ kind, action, sent, told }) => {
      const id = `t${Math.random().toString(36).slice(2)}`;
      const place = join(engine.data, 'lance', id);
      await make[kind](id, place);
      const call = () => post(`${id}/${action}`, sent());
      const expected = filledIn(told, id, place);
      if (isRefusal(expected)) {
        const before = await stateOf(id);
        expect(await refusalOf(call())).toBe(expected.refused);
        expect(await stateOf(id)).toEqual(before);
      } else {
        const { json: answer } = await call();
        if (typeof expected === 'object' && expected !== null && !isMatcher(expected)) {
          expect(answer).toMatchObject(expected);
        } else expect(answer).toEqual(expected);
      }
      for (const name of [id, 'renamed', 'elsewhere']) {
        await post(`${name}/drop`).catch(() => undefined);
      }
    },
  );

  it('is asked of every operation that names a table', () => {
    const missing = operationNames.filter(
      (name) =>
        operations[name].object === 'table' &&
        namesObject(operations[name]) &&
        !table.some(({ operation }) => operation === name) &&
        !later.has(name),
    );
    expect(missing).toEqual([]);
  });
});

/** Operations that say what they do with each kind where they are built. */
const later: ReadonlySet<OperationName> = new Set<OperationName>([
  'AlterTableBackfillColumns',
  'RefreshMaterializedView',
  'CreateMaterializedView',
  'CreateTableIndex',
  'CreateTableScalarIndex',
  ...operationNames.filter((name) => operations[name].extension),
]);

function post(target: string, sent: Sent = {}) {
  return ask(engine.backend, `POST /v1/table/${target}`, sent);
}

const properties = { kind: 'mine' };

const make: Readonly<Record<(typeof kinds)[number], (id: string, place: string) => unknown>> = {
  declared: (id, location) => post(`${id}/declare`, { body: { location, properties } }),
  engine: (id) =>
    post(`${id}/create`, {
      body: rows(),
      headers: { 'x-service-table-properties': JSON.stringify(properties) },
    }),
  lance: async (id, place) => {
    const location = await lanceTable(place);
    return post(`${id}/register`, { body: { location, properties } });
  },
};

async function stateOf(id: string): Promise<readonly JsonValue[]> {
  const answers = [await post(`${id}/describe`), await post(`${id}/version/list`)];
  return answers.map((answer) => answer.json);
}

function isRefusal(told: Told): told is { readonly refused: string } {
  return typeof told === 'object' && told !== null && 'refused' in told;
}

function isMatcher(value: object): boolean {
  return 'asymmetricMatch' in value;
}

function filledIn(told: Told, id: string, place: string): Told {
  if (typeof told !== 'object' || told === null || isMatcher(told)) return told;
  const text = JSON.stringify(told)
    .replaceAll('{id}', id)
    .replaceAll('{place}', place)
    .replaceAll('{key}', place.slice(1));
  return JSON.parse(text) as Told;
}
