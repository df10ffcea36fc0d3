import type { Refusal, RefusalGroup } from '../refusal.ts';

const NO_TAG = 'the table has no tag "v9"';
const NO_VERSION = 'the table has no version 9';
const NO_BRANCH = 'the table has no branch "nowhere"';

/** Operations that take a branch, and a body that is fine but for it. */
const onBranches: readonly (readonly [path: string, body: object])[] = [
  ['describe', {}],
  ['count_rows', {}],
  ['query', { vector: [], k: 1 }],
  ['create_index', { column: 'id', index_type: 'BTREE' }],
  ['index/list', {}],
  ['update', { updates: [['id', '1']] }],
  ['delete', { predicate: 'true' }],
  ['add_columns', { new_columns: [{ name: 'x', expression: '1' }] }],
  ['alter_columns', { alterations: [{ path: 'id', rename: 'x' }] }],
  ['drop_columns', { columns: ['id'] }],
  ['restore', { version: 1 }],
  ['version/list', {}],
  ['version/describe', { version: 1 }],
  ['version/delete', { ranges: [{ start_version: 1, end_version: 2 }] }],
  ['tags/create', { tag: 'new', version: 1 }],
];

/** What follows the table in the route, the body, how it is told, and the sentence. */
type Row = readonly [path: string, body: object, told: string, error: string];

const tags: readonly Row[] = [
  ['tags/create', { tag: 'v1', version: 1 }, '409/400 allow 9', 'the table already has a tag "v1"'],
  ['tags/create', { tag: 'new', version: 9 }, '404/400 allow 11', NO_VERSION],
  ['tags/update', { tag: 'v9', version: 1 }, '404/400 allow 8', NO_TAG],
  ['tags/update', { tag: 'v1', version: 9 }, '404/400 allow 11', NO_VERSION],
  ['tags/delete', { tag: 'v9' }, '404/400 allow 8', NO_TAG],
  ['tags/version', { tag: 'v9' }, '404/400 allow 8', NO_TAG],
];

const versions: readonly Row[] = [
  ['version/describe', { version: 9 }, '404/400 allow 11', NO_VERSION],
  ['restore', { version: 9 }, '404/400 allow 11', NO_VERSION],
  ['query', { vector: [], k: 1, version: 9 }, '404/400 allow 11', NO_VERSION],
  ['describe', { version: 9 }, '404/400 allow 11', NO_VERSION],
];

export const references: readonly RefusalGroup[] = [
  { what: 'tags', rows: tags.map(onTable) },
  { what: 'versions', rows: versions.map(onTable) },
  {
    what: 'branches that are not there',
    rows: onBranches.map(([path, body]) =>
      onTable([path, { ...body, branch: 'nowhere' }, '404/400 allow 22', NO_BRANCH]),
    ),
  },
];

function onTable([path, body, told, error]: Row): Refusal {
  return [`POST /v1/table/ns$t/${path}`, { body }, told, error];
}
