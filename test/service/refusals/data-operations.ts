import type { Refusal, RefusalGroup } from '../refusal.ts';
import type { Sent } from '../http.ts';
import { goodRows, wrongRows } from '../table-bodies.ts';

/** What follows the table in the route, and a body that is fine on a table that is there. */
type Good = readonly [path: string, body: Sent['body']];

const query = { vector: [], k: 1 };
const merge = 'merge_insert?on=id&when_matched_update_all=true';

/** Every operation on a table that is there. */
const onTables: readonly Good[] = [
  ['query', query],
  ['analyze_plan', query],
  ['explain_plan', { query }],
  ['count_rows', {}],
  ['insert', goodRows],
  [merge, goodRows],
  ['update', { updates: [['id', '1']] }],
  ['delete', { predicate: 'true' }],
  ['add_columns', { new_columns: [{ name: 'x', expression: '1' }] }],
  ['alter_columns', { alterations: [{ path: 'id', rename: 'x' }] }],
  ['drop_columns', { columns: ['id'] }],
  ['backfill_column', { column: 'id' }],
  ['update_field_metadata', { updates: [{ path: 'id', metadata: { a: 'b' } }] }],
  ['schema_metadata/update', { a: 'b' }],
  ['restore', { version: 1 }],
  ['version/list', {}],
  ['version/describe', { version: 1 }],
  ['version/delete', { ranges: [{ start_version: 1, end_version: 2 }] }],
  ['version/create', { version: 3, manifest_path: 'x' }],
  ['describe', {}],
  ['exists', {}],
  ['stats', {}],
  ['create_index', { column: 'id', index_type: 'BTREE' }],
  ['create_scalar_index', { column: 'id', index_type: 'BTREE' }],
  ['index/list', {}],
  ['index/some/stats', {}],
  ['index/some/drop', {}],
  ['index/some/prewarm', {}],
  ['page_cache/prewarm', {}],
  ['tags/list', {}],
  ['tags/version', { tag: 'v1' }],
  ['tags/create', { tag: 'new', version: 1 }],
  ['tags/update', { tag: 'v1', version: 1 }],
  ['tags/delete', { tag: 'v1' }],
  ['branches/list', {}],
  ['branches/create', { name: 'new' }],
  ['branches/delete', { name: 'kept' }],
  ['get_lsm_stats', {}],
  ['get_lsm_write_spec', {}],
  ['rename', { new_table_name: 'other' }],
  ['drop', {}],
  ['deregister', {}],
];

/** A request on the table that is there, and the sentence. */
type Wrong = readonly [path: string, body: Sent['body'], error: string];

const nope =
  'expected the name of a column, found nope; the nearest are name, ok, id, at position 1';
const noColumn = 'the table has no column "nope"';

const unknownColumns: readonly Wrong[] = [
  ['query', { ...query, filter: 'nope = 1' }, `filter: ${nope}`],
  ['query', { ...query, columns: ['nope'] }, noColumn],
  ['query', { ...query, order_by: [{ column_name: 'nope' }] }, noColumn],
  ['analyze_plan', { ...query, filter: 'nope = 1' }, `filter: ${nope}`],
  ['explain_plan', { query: { ...query, filter: 'nope = 1' } }, `filter: ${nope}`],
  ['count_rows', { predicate: 'nope > 1' }, `predicate: ${nope}`],
  ['merge_insert?on=nope&when_matched_update_all=true', goodRows, noColumn],
  ['update', { updates: [['nope', '1']] }, noColumn],
  ['update', { updates: [['id', 'nope']] }, `column "id": ${nope}`],
  ['update', { updates: [['id', '1']], predicate: 'nope = 1' }, `predicate: ${nope}`],
  ['delete', { predicate: 'nope = 1' }, `predicate: ${nope}`],
  ['add_columns', { new_columns: [{ name: 'x', expression: 'nope' }] }, `new_columns.x: ${nope}`],
  ['add_columns', { new_columns: [{ name: 'x', computed: 'nope' }] }, `new_columns.x: ${nope}`],
  ['alter_columns', { alterations: [{ path: 'nope', rename: 'x' }] }, noColumn],
  ['drop_columns', { columns: ['nope'] }, noColumn],
  ['backfill_column', { column: 'nope' }, noColumn],
  ['update_field_metadata', { updates: [{ path: 'nope', metadata: { a: 'b' } }] }, noColumn],
  ['create_index', { column: 'nope', index_type: 'BTREE' }, noColumn],
  ['create_scalar_index', { column: 'nope', index_type: 'BTREE' }, noColumn],
  ['page_cache/prewarm', { columns: ['nope'] }, noColumn],
];

const noTest = 'must be true or false of each row, not of type int64';

const wrongTypes: readonly Wrong[] = [
  ['query', { ...query, filter: 'id' }, `filter ${noTest}`],
  ['analyze_plan', { ...query, filter: 'id' }, `filter ${noTest}`],
  ['explain_plan', { query: { ...query, filter: 'id' } }, `filter ${noTest}`],
  ['count_rows', { predicate: 'id' }, `predicate ${noTest}`],
  [
    `${merge}&when_matched_update_all_filt=target.id`,
    goodRows,
    `when_matched_update_all_filt ${noTest}`,
  ],
  [
    'update',
    { updates: [['id', "'x'"]] },
    `column "id": expected a value that int64 can hold, found 'x' of string, at position 1`,
  ],
  ['update', { updates: [['id', '1']], predicate: 'id' }, `predicate ${noTest}`],
  ['delete', { predicate: 'id' }, `predicate ${noTest}`],
  [
    'add_columns',
    { new_columns: [{ name: 'x', expression: 'upper(id)' }] },
    'new_columns.x: expected a string as argument 1 of upper(text), found int64, at position 7',
  ],
];

const wrongSchemas: readonly Wrong[] = [
  ['insert', wrongRows.extraColumn, 'The table has no column "more".'],
  ['insert', wrongRows.wrongType, 'Column "id" has the type utf8, the table has int64.'],
  [merge, wrongRows.extraColumn, 'The table has no column "more".'],
  [merge, wrongRows.wrongType, 'Column "id" has the type utf8, the table has int64.'],
  [
    'alter_columns',
    { alterations: [{ path: 'id', data_type: { type: 'struct' } }] },
    'the column "id" of type int64 cannot become struct<>',
  ],
  [
    'alter_columns',
    { alterations: [{ path: 'id', rename: 'name' }] },
    'the table would have two columns called "name"',
  ],
  [
    'add_columns',
    { new_columns: [{ name: 'id', expression: '1' }] },
    'the table already has a column "id"',
  ],
];

/** Operations on a version, and where their bodies name it; those that take a tag in its place. */
const onVersions: readonly (readonly [path: string, named: (version: object) => object])[] = [
  ['query', (version) => ({ ...query, ...version })],
  ['analyze_plan', (version) => ({ ...query, ...version })],
  ['explain_plan', (version) => ({ query: { ...query, ...version } })],
  ['count_rows', (version) => version],
  ['describe', (version) => version],
  ['stats', (version) => version],
  ['index/list', (version) => version],
];

const noVersion = 'the table has no version 9';

const unknownVersions: readonly Wrong[] = [
  ...onVersions.map(([path, named]): Wrong => [path, named({ version: 9 }), noVersion]),
  ['index/some/stats', { version: 9 }, noVersion],
  ['exists', { version: 9 }, noVersion],
  ['restore', { version: 9 }, noVersion],
  ['version/describe', { version: 9 }, noVersion],
  ['tags/create', { tag: 'new', version: 9 }, noVersion],
  ['tags/update', { tag: 'v1', version: 9 }, noVersion],
  ['branches/create', { name: 'new', from_version: 9 }, noVersion],
];

const noTag = 'the table has no tag "v9"';

const unknownTags: readonly Wrong[] = [
  ...onVersions.map(([path, named]): Wrong => [path, named({ tag: 'v9' }), noTag]),
  ['tags/version', { tag: 'v9' }, noTag],
  ['tags/update', { tag: 'v9', version: 1 }, noTag],
  ['tags/delete', { tag: 'v9' }, noTag],
];

/** Operations that name their branch in the address. */
const branchInQuery: ReadonlySet<string> = new Set([
  'insert',
  merge,
  'schema_metadata/update',
  'index/some/drop',
  'index/some/prewarm',
]);

/** They are about all branches, or about the table itself. */
const withoutBranch: ReadonlySet<string> = new Set([
  'exists',
  'version/create',
  'tags/list',
  'tags/version',
  'tags/delete',
  'branches/list',
  'branches/create',
  'branches/delete',
  'rename',
  'drop',
  'deregister',
]);

const noBranch = 'the table has no branch "nowhere"';

function onNoBranch([path, body]: Good): Wrong {
  if (branchInQuery.has(path)) {
    return [`${path}${path.includes('?') ? '&' : '?'}branch=nowhere`, body, noBranch];
  }
  const inner = path === 'explain_plan' ? { query: { ...query, branch: 'nowhere' } } : undefined;
  return [path, inner ?? { ...Object(body), branch: 'nowhere' }, noBranch];
}

const unknownBranches: readonly Wrong[] = [
  ...onTables.filter(([path]) => !withoutBranch.has(path)).map(onNoBranch),
  ['branches/create', { name: 'new', from_branch: 'nowhere' }, noBranch],
  ['branches/delete', { name: 'nowhere' }, noBranch],
];

function group(what: string, told: string, rows: readonly Wrong[]): RefusalGroup {
  return {
    what,
    rows: rows.map(([path, body, error]): Refusal => [
      `POST /v1/table/ns$t/${path}`,
      body === undefined ? {} : { body },
      told,
      error,
    ]),
  };
}

/** What each operation on a table refuses, by what is not there or does not fit. */
export const dataOperations: readonly RefusalGroup[] = [
  {
    what: 'an operation on a table that is not there',
    rows: onTables.map(([path, body]): Refusal => [
      `POST /v1/table/none/${path}`,
      body === undefined ? {} : { body },
      '404 allow 4',
      'table /none does not exist',
    ]),
  },
  group('an operation on a column that is not there', '404/400 allow 12', unknownColumns),
  group('an operation on values of another type', '400 allow 13', wrongTypes),
  group('an operation on columns of another type', '400 allow 20', wrongSchemas),
  group('an operation on a version that is not there', '404/400 allow 11', unknownVersions),
  group('an operation on a tag that is not there', '404/400 allow 8', unknownTags),
  group('an operation on a branch that is not there', '404/400 allow 22', unknownBranches),
  group('an operation that makes a tag', '409/400 allow 9', [
    ['tags/create', { tag: 'v1', version: 1 }, 'the table already has a tag "v1"'],
  ]),
  group('an operation that makes a branch', '409/400 allow 23', [
    ['branches/create', { name: 'kept' }, 'the table already has a branch "kept"'],
  ]),
  group('an operation that makes a table', '409/400 allow 5', [
    ['rename', { new_table_name: 't' }, 'table /ns/t already exists'],
    ['clone', { source_location: '/nowhere' }, 'table /ns/t already exists'],
    ['create', goodRows, 'table /ns/t already exists'],
    ['declare', {}, 'table /ns/t already exists'],
    ['register', { location: '/nowhere' }, 'table /ns/t already exists'],
  ]),
];

/** Paths that a row names, so that an operation without one is found. */
export const pathsRefused: ReadonlySet<string> = new Set(
  dataOperations[0]!.rows.map(([line]) => line.split(/[ ?]/)[1]!.replace('/none/', '/{id}/')),
);
