import { asVisible } from '../../../src/engine/query/scan/visible-snapshot.ts';
import {
  Field,
  Float64,
  Int64,
  Schema,
  Utf8,
  vectorFromArray,
  type RecordBatch,
} from 'apache-arrow';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { batchOf } from '../../../src/arrow/select.ts';
import { countRows } from '../../../src/engine/query/rows/count.ts';
import type { JsonValue } from '../../../src/protocol/json.ts';
import { answerOf, rowsOf } from '../../support/query-answer.ts';
import { storeTable, type StoredTable } from '../../support/stored-table.ts';
import { vectorsOf, vectorType } from '../../support/vector-column.ts';
import { casesOf } from '../../support/cases.ts';

/* Random tables and random queries, answered by the engine from real files and by loops over objects. */

interface Row {
  readonly id: bigint;
  readonly score: number | null;
  readonly name: string | null;
  readonly vec: readonly number[] | null;
}

type Numbered = Row & { readonly offset: number };

const FIRST_ROW_ID = 2n ** 53n - 1n;
const LENGTH = 3;

const schema = new Schema(
  [
    new Field('id', new Int64(), false),
    new Field('score', new Float64(), true),
    new Field('name', new Utf8(), true),
    new Field('vec', vectorType(LENGTH), true),
  ],
  new Map([['origin', 'random']]),
);

function batch(rows: readonly Row[]): RecordBatch {
  const columns = [
    vectorFromArray(rows.map((row) => row.id), new Int64()), // prettier-ignore
    vectorFromArray(rows.map((row) => row.score), new Float64()), // prettier-ignore
    vectorFromArray(rows.map((row) => row.name), new Utf8()), // prettier-ignore
    vectorsOf(LENGTH, rows.map((row) => row.vec)), // prettier-ignore
  ];
  return batchOf(schema, columns, rows.length);
}

const row = fc.record<Row>({
  id: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  score: fc.option(fc.integer({ min: -5, max: 5 })),
  name: fc.option(fc.constantFrom('', 'a', 'b', 'é', '😀', 'long enough to matter')),
  vec: fc.option(
    fc.array(fc.integer({ min: -3, max: 3 }), { minLength: LENGTH, maxLength: LENGTH }),
  ),
});

/** Files of batches of rows. */
const table = fc.array(
  fc.array(fc.array(row, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 4 }),
  { maxLength: 4 },
);

interface Filter {
  readonly sql: string | null;
  readonly keeps: (row: Numbered) => boolean;
}

const filter = fc.constantFrom<Filter>(
  { sql: null, keeps: () => true },
  { sql: 'score > 0', keeps: ({ score }) => score !== null && score > 0 },
  { sql: 'NOT (score > 0)', keeps: ({ score }) => score !== null && score <= 0 },
  { sql: 'name IS NULL', keeps: ({ name }) => name === null },
  { sql: "name = 'a' OR score = 1", keeps: ({ name, score }) => name === 'a' || score === 1 },
  { sql: 'id >= 0', keeps: ({ id }) => id >= 0n },
  { sql: '_rowoffset IN (1, 3, 20)', keeps: ({ offset }) => [1, 3, 20].includes(offset) },
  {
    sql: '_rowid > 9007199254740995',
    keeps: ({ offset }) => FIRST_ROW_ID + BigInt(offset) > 9007199254740995n,
  },
  { sql: 'false', keeps: () => false },
  { sql: 'NULL', keeps: () => false },
);

interface Columns {
  readonly json: JsonValue;
  readonly of: (row: Numbered) => Record<string, unknown>;
}

const columns = fc.constantFrom<Columns>(
  { json: null, of: ({ id, score, name, vec }) => ({ id, score, name, vec }) },
  { json: ['name', 'id'], of: ({ name, id }) => ({ name, id }) },
  { json: ['id', '_rowoffset'], of: ({ id, offset }) => ({ id, _rowoffset: BigInt(offset) }) },
  {
    json: { twice: 'score * 2', id: 'name' },
    of: ({ score, name }) => ({ twice: score === null ? null : score * 2, id: name }),
  },
  { json: [], of: () => ({}) },
);

const offset = fc.option(fc.nat({ max: 40 }));
const limit = fc.option(fc.integer({ min: 1, max: 40 }));

describe('a scan', () => {
  it('answers what a loop over the rows answers', async () => {
    const query = fc.record({ filter, columns, offset, limit, rowId: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(table, query, async (files, { filter, columns, offset, limit, rowId }) => {
        const body = {
          filter: filter.sql,
          columns: columns.json,
          offset,
          k: limit,
          with_row_id: rowId,
        };
        const from = offset ?? 0;
        const expected = numbered(files)
          .filter(filter.keeps)
          .slice(from, limit === null ? undefined : from + limit)
          .map((found) => ({ ...columns.of(found), ...(rowId ? { _rowid: rowIdOf(found) } : {}) }));
        await withTable(files, async (stored) => {
          expect(await answer(stored, body)).toEqual(expected);
        });
      }),
      { numRuns: casesOf(50, 150) },
    );
  });

  it('counts the rows it would answer', async () => {
    await fc.assert(
      fc.asyncProperty(table, filter, async (files, { sql, keeps }) => {
        await withTable(files, async ({ snapshot, reader }) => {
          const expected = numbered(files).filter(keeps).length;
          expect(await countRows(reader, asVisible(snapshot), sql)).toBe(BigInt(expected));
        });
      }),
      { numRuns: casesOf(25, 60) },
    );
  });

  it('sorts by several columns, equals in the order of the table', async () => {
    const term = fc.record({
      column: fc.constantFrom('score', 'name', 'id'),
      ascending: fc.boolean(),
      nullsFirst: fc.boolean(),
    });
    const terms = fc.array(term, { minLength: 1, maxLength: 3 });
    const query = fc.record({ filter, terms, offset, limit });
    await fc.assert(
      fc.asyncProperty(table, query, async (files, { filter, terms, offset, limit }) => {
        const body = {
          filter: filter.sql,
          columns: ['id', '_rowoffset'],
          offset,
          k: limit,
          order_by: terms.map(({ column, ascending, nullsFirst }) => ({
            column_name: column,
            ascending,
            nulls_first: nullsFirst,
          })),
        };
        const from = offset ?? 0;
        const expected = numbered(files)
          .filter(filter.keeps)
          .sort((left, right) => compare(terms, left, right))
          .slice(from, limit === null ? undefined : from + limit)
          .map((found) => ({ id: found.id, _rowoffset: BigInt(found.offset) }));
        await withTable(files, async (stored) => {
          expect(await answer(stored, body)).toEqual(expected);
        });
      }),
      { numRuns: casesOf(40, 100) },
    );
  });
});

describe('a search', () => {
  const coordinates = fc.array(fc.integer({ min: -3, max: 3 }), {
    minLength: LENGTH,
    maxLength: LENGTH,
  });
  const bound = fc.option(fc.integer({ min: -8, max: 20 }));
  const search = fc.record({
    vectors: fc.array(coordinates, { minLength: 1, maxLength: 3 }),
    batch: fc.boolean(),
    metric: fc.constantFrom('l2', 'dot'),
    filter,
    prefilter: fc.boolean(),
    lower: bound,
    upper: bound,
    offset: fc.option(fc.nat({ max: 8 })),
    limit: fc.option(fc.integer({ min: 1, max: 12 })),
  });

  it('answers what a sort of all distances answers', async () => {
    await fc.assert(
      fc.asyncProperty(table, search, async (files, asked) => {
        const vectors = asked.batch ? asked.vectors : asked.vectors.slice(0, 1);
        const body = {
          vector: asked.batch ? vectors : vectors[0]!,
          distance_type: asked.metric,
          filter: asked.filter.sql,
          prefilter: asked.prefilter,
          lower_bound: asked.lower,
          upper_bound: asked.upper,
          offset: asked.offset,
          k: asked.limit ?? 2n ** 63n - 1n,
          columns: ['name', 'vec'],
          with_row_id: true,
        };
        const expected = vectors.flatMap((vector, index) =>
          nearest(numbered(files), vector, asked).map(({ found, distance }) => ({
            ...(asked.batch ? { query_index: index } : {}),
            name: found.name,
            vec: found.vec,
            _distance: distance,
            _rowid: rowIdOf(found),
          })),
        );
        await withTable(files, async (stored) => {
          expect(await answer(stored, body)).toEqual(expected);
        });
      }),
      { numRuns: casesOf(80, 250) },
    );
  });

  interface Asked {
    readonly metric: string;
    readonly filter: Filter;
    readonly prefilter: boolean;
    readonly lower: number | null;
    readonly upper: number | null;
    readonly offset: number | null;
    readonly limit: number | null;
  }

  function nearest(rows: readonly Numbered[], vector: readonly number[], asked: Asked) {
    const { lower, upper, filter } = asked;
    const from = asked.offset ?? 0;
    const end = asked.limit === null ? Infinity : from + asked.limit;
    const near = rows
      .filter((found) => !asked.prefilter || filter.keeps(found))
      .flatMap((found) => {
        const distance = distanceOf(asked.metric, vector, found.vec);
        return distance === null ? [] : [{ found, distance }];
      })
      .filter(({ distance }) => lower === null || distance >= lower)
      .filter(({ distance }) => upper === null || distance < upper)
      .sort((left, right) => left.distance - right.distance)
      .slice(0, end);
    return near.filter(({ found }) => asked.prefilter || filter.keeps(found)).slice(from, end);
  }
});

function distanceOf(
  metric: string,
  query: readonly number[],
  vec: readonly number[] | null,
): number | null {
  if (vec === null) return null;
  const sum = (term: (one: number, other: number) => number) =>
    query.reduce((total, one, at) => total + term(one, vec[at]!), 0);
  if (metric === 'l2') return sum((one, other) => (one - other) ** 2);
  return 1 - sum((one, other) => one * other);
}

interface Term {
  readonly column: string;
  readonly ascending: boolean;
  readonly nullsFirst: boolean;
}

function compare(terms: readonly Term[], left: Numbered, right: Numbered): number {
  for (const term of terms) {
    const difference = compareBy(term, valueOf(term, left), valueOf(term, right));
    if (difference !== 0) return difference;
  }
  return 0;
}

function valueOf({ column }: Term, row: Numbered): bigint | number | Buffer | null {
  if (column === 'id') return row.id;
  if (column === 'score') return row.score;
  return row.name === null ? null : Buffer.from(row.name);
}

function compareBy(
  { ascending, nullsFirst }: Term,
  left: bigint | number | Buffer | null,
  right: bigint | number | Buffer | null,
): number {
  if (left === null || right === null) {
    const nulls = Number(left !== null) - Number(right !== null);
    return nullsFirst ? nulls : -nulls;
  }
  const difference =
    left instanceof Buffer && right instanceof Buffer
      ? Buffer.compare(left, right)
      : Number(left > right) - Number(left < right);
  return ascending ? difference : -difference;
}

function numbered(files: readonly (readonly (readonly Row[])[])[]): Numbered[] {
  return files.flat(2).map((row, offset) => ({ ...row, offset }));
}

function rowIdOf({ offset }: Numbered): bigint {
  return FIRST_ROW_ID + BigInt(offset);
}

async function withTable(
  files: readonly (readonly (readonly Row[])[])[],
  work: (stored: StoredTable) => Promise<void>,
): Promise<void> {
  const stored = await storeTable(
    schema,
    files.map((batches) => batches.map(batch)),
    FIRST_ROW_ID,
  );
  try {
    await work(stored);
  } finally {
    await stored.remove();
  }
}

async function answer(stored: StoredTable, body: Record<string, JsonValue>): Promise<object[]> {
  const found = await answerOf(stored, body);
  expect(found.schema.metadata.get('origin')).toBe('random');
  return rowsOf(found).map(plain);
}

function plain(row: Record<string, unknown>): object {
  const { vec } = row;
  return vec === undefined || vec === null ? row : { ...row, vec: [...(vec as Iterable<number>)] };
}
