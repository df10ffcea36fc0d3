import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection, Table, VectorQuery } from '@lancedb/lancedb';
import { Service } from '../support/service.ts';
import { arrow, connectTo, refusalOf, rowsOf, tableOf } from './lancedb.ts';

let service: Service;
let db: Connection;
let table: Table;

const { Int32, Utf8, Float32, Field, FixedSizeList } = arrow;

beforeAll(async () => {
  service = await Service.start();
  db = await connectTo(service);
  table = await db.createTable('points', points());
});

afterAll(() => service.stop());

function vectors(length: number) {
  return new FixedSizeList(length, new Field('item', new Float32(), true));
}

/** Five places on a plane, one without coordinates, and a vector of another length beside them. */
function points() {
  const places = [[0, 0], [3, 4], [1, 0], null, [0, 2]];
  return tableOf([
    { name: 'id', type: new Int32(), values: [0, 1, 2, 3, 4] },
    { name: 'kind', type: new Utf8(), values: ['a', 'b', 'a', 'b', null] },
    { name: 'place', type: vectors(2), values: places },
    { name: 'colour', type: vectors(3), values: places.map((_, id) => [id, 0, 0]) },
  ]);
}

/** What a search found: ids with their distances. */
async function found(query: VectorQuery): Promise<readonly (readonly [number, number])[]> {
  const rows = await rowsOf(query.select(['id', '_distance']));
  return rows.map((row) => [Number(row['id']), Number(row['_distance'])]);
}

function near(...place: readonly number[]): VectorQuery {
  return table
    .query()
    .nearestTo([...place])
    .column('place');
}

describe('nearestTo', () => {
  it('finds the nearest first, by the squared distance', async () => {
    expect(await found(near(0, 0))).toEqual([
      [0, 0],
      [2, 1],
      [4, 4],
      [1, 25],
    ]);
  });

  it('finds by the angle', async () => {
    const [first, ...others] = await found(near(0, 1).distanceType('cosine'));
    expect(first).toEqual([4, 0]);
    expect(others.map(([id]) => id)).toEqual([1, 2]);
    expect(others[0]![1]).toBeCloseTo(0.2, 6);
    expect(others[1]![1]).toBeCloseTo(1, 6);
  });

  it('finds by the dot product', async () => {
    expect(await found(near(1, 1).distanceType('dot'))).toEqual([
      [1, -6],
      [4, -1],
      [2, 0],
      [0, 1],
    ]);
  });

  it('answers as many as asked for, and ten when nothing is asked', async () => {
    expect(await found(near(0, 0).limit(2))).toHaveLength(2);
    const values = Array.from({ length: 30 }, (_, index) => [index, 0]);
    const many = await db.createTable('many', tableOf([{ name: 'v', type: vectors(2), values }]));
    expect(await rowsOf(many.query().nearestTo([0, 0]))).toHaveLength(10);
    expect(await rowsOf(many.query().nearestTo([0, 0]).limit(25).offset(10))).toHaveLength(20);
  });

  it('leaves out the first when told to', async () => {
    expect((await found(near(0, 0).limit(2).offset(1))).map(([id]) => id)).toEqual([2, 4]);
  });

  it('searches the column that is named', async () => {
    const query = table.query().nearestTo([4, 0, 0]).column('colour').limit(2);
    expect(await found(query)).toEqual([
      [4, 0],
      [3, 1],
    ]);
  });

  it('searches the only column whose vectors are as long', async () => {
    const query = table.query().nearestTo([4, 0, 0]).limit(1);
    expect(await found(query)).toEqual([[4, 0]]);
  });

  it('answers all columns, the distance behind them', async () => {
    const answer = await near(0, 0).limit(1).withRowId().toArrow();
    expect(answer.schema.names).toEqual(['id', 'kind', 'place', 'colour', '_distance', '_rowid']);
    expect(String(answer.schema.fields[4]!.type)).toBe('Float32');
    expect(await rowsOf(near(3, 4).limit(1).withRowId())).toEqual([
      { id: 1, kind: 'b', place: [3, 4], colour: [1, 0, 0], _distance: 0, _rowid: 1n },
    ]);
  });

  it('keeps the schema when nothing is found', async () => {
    const answer = await near(0, 0).where('false').toArrow();
    expect(answer.numRows).toBe(0);
    expect(answer.schema.names).toEqual(['id', 'kind', 'place', 'colour', '_distance']);
  });
});

describe('where beside a search', () => {
  it('filters before the nearest are chosen', async () => {
    const query = near(0, 0).where("kind = 'b'").limit(1);
    expect((await found(query)).map(([id]) => id)).toEqual([1]);
  });

  it('filters after them when told to', async () => {
    const query = () => near(0, 0).where("kind = 'b'").postfilter();
    expect(await found(query().limit(3))).toEqual([]);
    expect(await found(query().limit(4))).toEqual([[1, 25]]);
  });
});

describe('distanceRange', () => {
  it.each([
    [1, 25, [2, 4]],
    [1, 26, [2, 4, 1]],
    [undefined, 4, [0, 2]],
    [4, undefined, [4, 1]],
    [2, 3, []],
  ])('keeps distances from %s to below %s', async (lower, upper, ids) => {
    const query = near(0, 0).distanceRange(lower, upper);
    expect((await found(query)).map(([id]) => id)).toEqual(ids);
  });
});

describe('several vectors in one query', () => {
  it('answers the rows of each, under its number', async () => {
    const query = near(0, 0).addQueryVector([3, 3]).addQueryVector([0, 2]).limit(2);
    const answer = await query.select(['id', '_distance']).toArrow();
    expect(String(answer.schema.fields.find(({ name }) => name === 'query_index')?.type)).toBe(
      'Int32',
    );
    const rows = answer.toArray().map((row) => [row.query_index, row.id, row._distance]);
    expect(rows).toEqual([
      [0, 0, 0],
      [0, 2, 1],
      [1, 1, 1],
      [1, 4, 10],
      [2, 4, 0],
      [2, 0, 4],
    ]);
  });

  it('applies filter, range and offset to each', async () => {
    const query = near(0, 0).addQueryVector([0, 2]).where("kind = 'a'").distanceRange(0, 4);
    const rows = await rowsOf(query.select(['id']).offset(1));
    expect(rows).toMatchObject([{ query_index: 0, id: 2 }]);
  });
});

describe('a search that makes no sense', () => {
  const refusals = [
    [
      'vectors of another length',
      () => near(0, 0, 0),
      13,
      'the vectors of "place" have 2 values, the query has 3',
    ],
    [
      'a column without vectors',
      () => near(0, 0).column('kind'),
      13,
      'the column "kind" holds no vectors: its type is utf8',
    ],
    [
      'a column that is not there',
      () => near(0, 0).column('nope'),
      12,
      'the table has no column "nope"',
    ],
  ] as const;

  it.each(refusals)('is refused: %s', async (_, query, code, error) => {
    expect(await refusalOf(query().toArray())).toMatchObject({ status: 400, code, error });
  });

  it('is refused where no column has vectors as long', async () => {
    const refused = await refusalOf(table.query().nearestTo([1]).toArray());
    expect(refused).toMatchObject({ status: 400, code: 13 });
  });
});

describe('orderBy behind nearestTo', () => {
  it('puts the rows that were found in order, and explains it', async () => {
    const ordering = { columnName: 'kind', ascending: false, nullsFirst: true };
    const query = near(0, 0).limit(3).orderBy(ordering);
    expect(await found(query)).toEqual([
      [4, 4],
      [0, 0],
      [2, 1],
    ]);
    expect(await query.explainPlan(false)).toContain('Sort: kind descending nulls first');
  });
});
