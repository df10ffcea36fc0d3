import { asVisible } from '../../../../src/engine/query/scan/visible-snapshot.ts';
import { disk } from '../../../support/disk.ts';
import { Field, Float64, Int32, Int64, List, Schema, Struct, Utf8 } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { empty, newFragment } from '../../../../src/engine/format/change.ts';
import { typeName } from '../../../../src/arrow/types.ts';
import { planQuery } from '../../../../src/engine/query/plan/plan.ts';
import { parseQueryRequest } from '../../../../src/engine/request/request.ts';
import type { Snapshot } from '../../../../src/engine/format/snapshot.ts';
import { CatalogError } from '../../../../src/protocol/errors.ts';
import type { JsonValue } from '../../../../src/protocol/json.ts';
import { vectorType } from '../../../support/vector-column.ts';

const inner = new Struct([
  new Field('x', new Int32(), true),
  new Field('y.z', new Utf8(), true),
  new Field('v', vectorType(4), true),
]);

const table = new Schema([
  new Field('id', new Int64(), false, new Map([['unit', 'none']])),
  new Field('name', new Utf8(), true),
  new Field('a b', new Int32(), true),
  new Field('s', inner, true),
  new Field('tags', new List(new Field('item', new Utf8(), true)), true),
  new Field('vec', vectorType(3), true),
]);

const twoVectors = new Schema([
  new Field('v3', vectorType(3), true),
  new Field('w3', vectorType(3), true),
  new Field('w2', vectorType(2, new Float64()), true),
]);

const noVector = new Schema([new Field('id', new Int64(), false)]);

const taken = new Schema([
  new Field('_rowid', new Int64(), false),
  new Field('_distance', new Float64(), false),
  new Field('query_index', new Int32(), false),
  new Field('vec', vectorType(1), true),
]);

function snapshotOf(schema: Schema, rows: readonly number[] = [10, 20, 30]): Snapshot {
  let next = 0n;
  const { fieldIds, nextFieldId } = empty(schema);
  const fragments = rows.map((count, index) => {
    const written = { file: `data/${index}.arrow`, rows: count, bytes: count, seal: '' };
    const fragment = newFragment(written, fieldIds, next);
    next += BigInt(count);
    return fragment;
  });
  const place = {
    tableId: 'table',
    storage: disk,
    folder: '/nowhere',
    version: 1n,
    timestampMillis: 0,
  };
  return { ...place, schema, fieldIds, nextFieldId, fragments, rows: next, nextRowId: next };
}

function planned(body: Record<string, JsonValue>, schema: Schema = table) {
  return planQuery(parseQueryRequest(body), asVisible(snapshotOf(schema)));
}

function answered(body: Record<string, JsonValue>, schema: Schema = table): readonly string[] {
  return planned(body, schema).schema.fields.map(({ name, type, nullable }) => {
    return `${name}: ${typeName(type)}${nullable ? '' : ' not null'}`;
  });
}

describe('the columns of an answer', () => {
  it('are those of the table, as they are', () => {
    const { schema } = planned({});
    expect(schema.fields).toEqual(table.fields);
  });

  it('end with the distance and the row id', () => {
    expect(answered({ columns: ['id'], vector: [1, 2, 3], with_row_id: true })).toEqual([
      'id: int64 not null',
      '_distance: float32',
      '_rowid: uint64',
    ]);
  });

  it('begin with the index of the query vector when there are several', () => {
    expect(answered({ columns: ['id'], vector: [[1, 2, 3]], with_row_id: true })).toEqual([
      'query_index: int32 not null',
      'id: int64 not null',
      '_distance: float32',
      '_rowid: uint64',
    ]);
  });

  it('keep the order of the selection, save the row id', () => {
    const columns = ['_distance', '_rowid', 'name', '_rowoffset'];
    expect(answered({ columns, vector: [1, 2, 3], with_row_id: true })).toEqual([
      '_distance: float32',
      'name: utf8',
      '_rowoffset: uint64',
      '_rowid: uint64',
    ]);
    expect(answered({ columns: ['_rowid', 'name'] })).toEqual(['_rowid: uint64', 'name: utf8']);
  });

  it('may be fields inside others, called by their path', () => {
    expect(answered({ columns: ['s.x', 's.`y.z`', 'a b', '`a b`'].slice(0, 3) })).toEqual([
      's.x: int32',
      's.`y.z`: utf8',
      'a b: int32',
    ]);
  });

  it('may be expressions under an alias', () => {
    expect(answered({ columns: { twice: 'id * 2', name: 's.x', row: '_rowid' } })).toEqual([
      'twice: int64',
      'name: int32',
      'row: uint64',
    ]);
  });

  it('may be none', () => {
    expect(answered({ columns: [] })).toEqual([]);
  });
});

describe('what a plan reads', () => {
  it('is the filter first, then what the answer needs', () => {
    const plan = planned({ filter: 'id > 1', columns: { n: 'upper(name)' }, with_row_id: true });
    expect(plan.filterNeed.stored).toEqual(['id']);
    expect(plan.need.stored).toEqual(['name']);
    expect(plan.need.placed.map(({ name }) => name)).toEqual(['_rowid']);
  });

  it('leaves out files that hold only skipped rows', () => {
    const plan = planned({ offset: 30, k: 5 });
    expect(plan.files).toMatchObject([
      { fragment: { files: [{ path: 'data/2.arrow' }] }, offset: 30 },
    ]);
    expect(plan.window).toEqual({ offset: 0, limit: 5 });
    const later = planned({ offset: 12 });
    expect(later.files.map(({ offset }) => offset)).toEqual([10, 30]);
    expect(later.window).toEqual({ offset: 2, limit: null });
  });

  it('leaves out no file when a filter decides which rows are skipped', () => {
    const plan = planned({ offset: 30, filter: 'id > 1' });
    expect(plan.files).toHaveLength(3);
    expect(plan.window.offset).toBe(30);
  });
});

describe('the column of a search', () => {
  it('is the only one, or the only one of that length', () => {
    expect(planned({ vector: [1, 2, 3] }).nearest?.column.column).toBe('vec');
    expect(planned({ vector: [1, 2] }, twoVectors).nearest?.column.column).toBe('w2');
  });

  it('may be named, also inside another', () => {
    const body = { vector: [1, 2, 3, 4], vector_column: 's.v' };
    expect(planned(body).nearest?.column.column).toBe('s');
    const named = planned({ vector: [1, 2, 3], vector_column: 'w3' }, twoVectors);
    expect(named.nearest?.column.column).toBe('w3');
  });

  it('keeps as many rows as the window needs', () => {
    expect(planned({ vector: [1, 2, 3], offset: 5 }).nearest?.keep).toBe(15);
    expect(planned({ vector: [1, 2, 3], k: 2n ** 63n - 1n }).nearest?.keep).toBeNull();
  });
});

describe('a query that is refused', () => {
  const refusals: readonly (readonly [Record<string, JsonValue>, Schema, string, string])[] = [
    [{ columns: ['nope'] }, table, 'TableColumnNotFound', 'the table has no column "nope"'],
    [{ columns: ['id + 1'] }, table, 'TableColumnNotFound', 'the table has no column "id + 1"'],
    [
      { columns: ['id', 'id'] },
      table,
      'InvalidInput',
      'the answer would have two columns called "id"',
    ],
    [
      { columns: ['_distance'] },
      table,
      'TableColumnNotFound',
      'the table has no column "_distance"',
    ],
    [
      { filter: 'id + 1' },
      table,
      'InvalidInput',
      'filter must be true or false of each row, not of type int64',
    ],
    [
      { vector: [1, 2] },
      table,
      'InvalidInput',
      'the vectors of "vec" have 3 values, the query has 2',
    ],
    [
      { vector: [[1, 2, 3], [1]] },
      table,
      'InvalidInput',
      'the vectors of "vec" have 3 values, the query has 1',
    ],
    [
      { vector: [1], vector_column: 'name' },
      table,
      'InvalidInput',
      'the column "name" holds no vectors: its type is utf8',
    ],
    [
      { vector: [1], vector_column: 'nope' },
      table,
      'TableColumnNotFound',
      'the table has no column "nope"',
    ],
    [{ vector: [1] }, noVector, 'InvalidInput', 'the table has no vector column'],
    [
      { vector: [1, 2, 3] },
      twoVectors,
      'InvalidInput',
      'the table has several vector columns, so vector_column must name one of "v3", "w3", "w2"',
    ],
    [
      { with_row_id: true },
      taken,
      'InvalidInput',
      'the table has a column of its own called "_rowid", so the answer cannot have that name for another',
    ],
    [
      { vector: [1], columns: ['vec'] },
      taken,
      'InvalidInput',
      'the table has a column of its own called "_distance", so the answer cannot have that name for another',
    ],
    [
      { order_by: [{ column_name: 'tags' }] },
      table,
      'InvalidInput',
      'order_by cannot sort by "tags": its type is list<utf8>',
    ],
    [
      { order_by: [{ column_name: 'nope' }] },
      table,
      'TableColumnNotFound',
      'the table has no column "nope"',
    ],
  ];
  it.each(refusals)('%j', (body, schema, name, sentence) => {
    const refusal = refusalOf(() => planned(body, schema));
    expect([refusal.row.name, refusal.message]).toEqual([name, sentence]);
  });

  it('refuses a batch of searches that would keep more rows than memory is for', () => {
    const body = { vector: Array.from({ length: 1000 }, () => [1, 2, 3]), k: 20_000 };
    const search = (rows: number) => () =>
      planQuery(parseQueryRequest(body), asVisible(snapshotOf(table, [rows])));
    expect(refusalOf(search(16_778)).message).toBe(
      'a search may keep at most 16777216 rows for all its vectors together, not 16778000',
    );
    expect(search(16_777)).not.toThrow();
  });

  it('names the position of what is wrong in a filter', () => {
    const unknown = refusalOf(() => planned({ filter: 'id > 1 AND nope = 2' }));
    expect(unknown.row.name).toBe('TableColumnNotFound');
    expect(unknown.message).toMatch(/^filter: .*nope.*12/);
    const syntax = refusalOf(() => planned({ filter: 'id >' }));
    expect(syntax.row.name).toBe('InvalidInput');
    expect(syntax.message).toMatch(/^filter: .*5/);
    const type = refusalOf(() => planned({ columns: { c: 'name + tags' } }));
    expect(type.row.name).toBe('InvalidInput');
    expect(type.message).toMatch(/^columns\.c: /);
  });

  it('cannot filter by a distance before there is one', () => {
    const body = { vector: [1, 2, 3], filter: '_distance < 1' };
    expect(refusalOf(() => planned(body)).row.name).toBe('TableColumnNotFound');
    expect(planned({ ...body, prefilter: false }).nearest?.postfilter?.columns).toEqual([
      '_distance',
    ]);
  });
});

function refusalOf(work: () => unknown): CatalogError {
  try {
    work();
  } catch (error) {
    if (error instanceof CatalogError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}
