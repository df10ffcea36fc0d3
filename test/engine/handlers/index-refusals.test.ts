import {
  Binary,
  Field,
  FixedSizeList,
  Float32,
  Int64,
  List,
  Struct,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EngineTable } from '../../support/engine-table.ts';
import { buildIndex, posting } from '../../support/indices.ts';
import { LANCEDB } from '../../service/http.ts';
import { waitUntil } from '../../support/eventually.ts';

let table: EngineTable;
const faults: unknown[] = [];

beforeAll(async () => {
  table = await EngineTable.open();
  table.engine.startWork((error) => faults.push(error));
  const item = (type: Float32 | Utf8) => new Field('item', type, true);
  await table.create({
    id: vectorFromArray([1n, 2n], new Int64()),
    'A b': vectorFromArray(['x', 'y'], new Utf8()),
    inner: vectorFromArray([{ a: 1n }, { a: 2n }], new Struct([new Field('a', new Int64(), true)])),
    place: vectorFromArray([[1, 2], null], new FixedSizeList(2, item(new Float32()))),
    tags: vectorFromArray([['a'], []], new List(item(new Utf8()))),
    raw: vectorFromArray([new Uint8Array(1), null], new Binary()),
  });
  await buildIndex(table.engine.backend, 't', { column: 'id', index_type: 'BTREE' });
});

afterAll(async () => {
  await table.close();
  expect(faults).toEqual([]);
});

const values = 'integers, floats, texts, booleans, dates or timestamps';
const wrongName =
  'the name of an index has 1 to 255 characters, none of them a control character, and is not "." or ".."';
const btree = { column: 'id', index_type: 'BTREE' };

type Refusal = readonly [action: string, body: object, code: number, sentence: string];

const onColumns: readonly Refusal[] = [
  ['create_index', { ...btree, column: 'none' }, 12, 'the table has no column "none"'],
  ['create_index', { ...btree, column: '' }, 12, 'the table has no column ""'],
  ['create_index', { ...btree, column: 'ID' }, 12, 'the table has no column "ID"'],
  ['create_index', { ...btree, column: '_rowid' }, 12, 'the table has no column "_rowid"'],
  ['create_index', { ...btree, column: 'inner.b' }, 12, 'the table has no column "inner.b"'],
  [
    'create_scalar_index',
    { ...btree, column: 'inner.a' },
    0,
    'an index of "inner.a" is not built: it lies inside the column "inner", and indices are made of whole columns',
  ],
  [
    'create_index',
    { ...btree, column: 'inner' },
    13,
    `an index of type BTREE is made of ${values}, and the column "inner" is of type struct<a: int64>`,
  ],
  [
    'create_index',
    { column: 'place', index_type: 'bitmap' },
    13,
    `an index of type BITMAP is made of ${values}, and the column "place" is of type fixed_size_list<float32>[2]`,
  ],
  [
    'create_index',
    { column: 'place', index_type: 'Label_List' },
    13,
    `an index of type LABEL_LIST is made of lists of ${values}, and the column "place" is of type fixed_size_list<float32>[2]`,
  ],
  [
    'create_scalar_index',
    { ...btree, column: 'raw' },
    13,
    `an index of type BTREE is made of ${values}, and the column "raw" is of type binary`,
  ],
];

const onNames: readonly Refusal[] = [
  ['create_index', btree, 7, 'the table already has an index "id_idx"'],
  [
    'create_index',
    { column: 'tags', index_type: 'LABEL_LIST', name: 'id_idx' },
    7,
    'the table already has an index "id_idx"',
  ],
  ...['', '.', '..', 'a\u0000', 'a\n', '\ud800', 'x'.repeat(256)].map((name): Refusal => [
    'create_index',
    { ...btree, name },
    13,
    wrongName,
  ]),
];

const onPlaces: readonly Refusal[] = [
  ['create_index', { ...btree, branch: 'none' }, 22, 'the table has no branch "none"'],
  ['index/list', { branch: 'none' }, 22, 'the table has no branch "none"'],
  ['index/list', { version: 9 }, 11, 'the table has no version 9'],
  ['index/list', { tag: 'none' }, 8, 'the table has no tag "none"'],
  ['index/id_idx/stats', { version: 1 }, 6, 'table /t has no index "id_idx"'],
  ['index/none/stats', {}, 6, 'table /t has no index "none"'],
  ['index/none/drop', {}, 6, 'table /t has no index "none"'],
  ['index/none/prewarm', {}, 6, 'table /t has no index "none"'],
  ['index/ID_IDX/drop', {}, 6, 'table /t has no index "ID_IDX"'],
  ['index/id_idx/drop?branch=none', {}, 22, 'the table has no branch "none"'],
  ['index/id_idx/prewarm?branch=none', {}, 22, 'the table has no branch "none"'],
  ...['stats', 'drop', 'prewarm'].map((action): Refusal => {
    const sentence =
      'the field "index_name" of the body differs from what the request says elsewhere';
    return [`index/id_idx/${action}`, { index_name: 'other' }, 13, sentence];
  }),
];

describe('what is wrong with a request on indices changes nothing', () => {
  it.each(onColumns)('of a column: %s %j', (...refusal) => table.refuses(...refusal));
  it.each(onNames)('of a name: %s %j', (...refusal) => table.refuses(...refusal));
  it.each(onPlaces)('of a place: %s %j', (...refusal) => table.refuses(...refusal));
});

describe('an index', () => {
  it('is named after its column, however the request calls that', async () => {
    const built = { column: '`A b`', index_type: 'BITMAP' };
    await buildIndex(table.engine.backend, 't', built);
    const listed = (await table.post('index/list')) as { indexes: { index_name: string }[] };
    expect(listed.indexes.map((index) => index.index_name)).toEqual(['A b_idx', 'id_idx']);
    await table.post('index/A%20b_idx/drop');
  });

  it('takes the place of one of its name for clients of LanceDB', async () => {
    await table.send('create_index', {
      body: { ...btree, index_type: 'BITMAP' },
      headers: LANCEDB,
    });
    const kind = async (): Promise<unknown> =>
      ((await table.post('index/id_idx/stats')) as { index_type: string }).index_type;
    await waitUntil(async () => (await kind()) === 'BITMAP');
    const { indexes } = (await posting(table.engine.backend)('t', 'index/list')) as {
      indexes: object[];
    };
    expect(indexes).toHaveLength(1);
  });

  it('is built once of two that were asked for at once', async () => {
    const asked = [1, 2].map(() =>
      buildIndex(table.engine.backend, 't', { column: 'tags', index_type: 'LABEL_LIST' }),
    );
    const ends = await Promise.all(asked.map((one) => one.then(({ status }) => status, String)));
    expect(ends.filter((end) => end === 'SUCCEEDED')).toHaveLength(1);
  });

  it('of a branch is its own', async () => {
    await table.post('branches/create', { name: 'b' });
    await table.post('index/id_idx/drop?branch=b');
    await table.refuses('index/id_idx/stats', { branch: 'b' }, 6, 'table /t has no index "id_idx"');
    expect(await table.post('index/id_idx/stats')).toMatchObject({ num_unindexed_rows: 0 });
  });
});
