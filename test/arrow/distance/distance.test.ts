import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@lancedb/lancedb';
import type * as Arrow from 'apache-arrow';
import {
  Field,
  FixedSizeList,
  Float16,
  Float32,
  Float64,
  Int8,
  Utf8,
  Vector,
  vectorFromArray,
  type DataType,
} from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dataOf } from '../../../src/arrow/data.ts';
import { distances, type Metric } from '../../../src/arrow/distance/distance.ts';
import { refused } from '../support.ts';

// LanceDB takes tables of the CommonJS build of the package only.
const arrow = createRequire(import.meta.url)('apache-arrow') as typeof Arrow;

const size = 11;
const rows = Array.from({ length: 60 }, (_, row) =>
  Array.from({ length: size }, (_, at) =>
    Math.fround(Math.sin(row * 7 + at * 3) * (1 + (row % 5))),
  ),
);
rows[7] = rows[7]!.map(() => 0);
const query = Float32Array.from({ length: size }, (_, at) => Math.cos(at * 2));

function vectors(values: readonly (readonly number[])[], item: DataType): Vector {
  const type = new FixedSizeList(values[0]!.length, new Field('item', item, true));
  const child = vectorFromArray(values.flat(), item).data[0]!;
  return new Vector([dataOf(type, { length: values.length, nullCount: 0, children: [child] })]);
}

describe('distances', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'distance-'));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true });
  });

  const items: readonly (readonly [string, DataType])[] = [
    ['Float16', new Float16()],
    ['Float32', new Float32()],
    ['Float64', new Float64()],
  ];

  it.each(items)('are those of LanceDB over %s', async (name, item) => {
    const database = await connect(folder);
    const inner = new arrow.Field('item', new arrow[name as 'Float32'](), true);
    const schema = new arrow.Schema([
      new arrow.Field('id', new arrow.Int32(), true),
      new arrow.Field('vector', new arrow.FixedSizeList(size, inner), true),
    ]);
    const data = rows.map((vector, id) => ({ id, vector }));
    const table = await database.createTable(name, data, { schema });
    for (const metric of ['l2', 'cosine', 'dot'] as const) {
      const answer = table.query().nearestTo([...query]);
      if (!('distanceType' in answer)) throw new Error('no vector query');
      const found = await answer.distanceType(metric).limit(1000).toArray();
      const ours = distances(metric, query, vectors(rows, item), null);
      // A vector of zeros has no cosine: LanceDB leaves it out.
      expect(found).toHaveLength(metric === 'cosine' ? rows.length - 1 : rows.length);
      for (const row of found) {
        const scale = Math.max(1, Math.abs(row['_distance']));
        const tolerance = (name === 'Float16' ? 1e-2 : 1e-5) * scale;
        expect(Math.abs(ours[row['id']]! - row['_distance'])).toBeLessThan(tolerance);
      }
    }
  });

  it.each(['l2', 'cosine', 'dot'] as const)(
    'of chosen rows are those of all rows: %s',
    (metric) => {
      const column = vectors(rows, new Float32());
      const all = distances(metric, query, column, null);
      const some = distances(metric, query, column, Uint32Array.of(5, 5, 59, 0));
      expect([...some]).toEqual([all[5], all[5], all[59], all[0]]);
    },
  );

  it('are NaN for nulls, for null items and for the cosine of zeros', () => {
    const child = vectorFromArray([1, 2, 3, null, 5, 6, 0, 0], new Float32()).data[0]!;
    const type = new FixedSizeList(2, new Field('item', new Float32(), true));
    const validity = Uint8Array.of(0b1011);
    const data = dataOf(type, { length: 4, nullCount: 1, validity, children: [child] });
    const of = (metric: Metric): number[] => [
      ...distances(metric, Float32Array.of(1, 1), new Vector([data]), null),
    ];
    expect(of('l2')).toEqual([1, Number.NaN, Number.NaN, 2]);
    expect(of('dot')).toEqual([-2, Number.NaN, Number.NaN, 1]);
    expect(of('cosine').slice(1)).toEqual([Number.NaN, Number.NaN, Number.NaN]);
    expect(distances('cosine', Float32Array.of(0, 0), new Vector([data]), null)[0]).toBeNaN();
  });

  it('overflow like 32-bit floats', () => {
    const column = vectors([[3e19, 3e19, 0, 1]], new Float32());
    const of = (metric: Metric): number | undefined =>
      distances(metric, Float32Array.of(1, 0, 2, -1), column, null)[0];
    expect(of('l2')).toBe(Number.POSITIVE_INFINITY);
    expect(of('cosine')).toBe(1);
    expect(of('dot')).toBe(Math.fround(-3e19));
  });

  it('of bytes are exact', () => {
    const column = vectors([[100, -100, 3]], new Int8());
    expect(distances('l2', Float32Array.of(-100, 100, 0), column, null)[0]).toBe(80_009);
  });

  it('are refused for other columns and lengths', () => {
    const text = vectorFromArray(['a'], new Utf8());
    expect(refused(() => distances('l2', query, text, null))).toBe(
      'mismatch: A column of the type utf8 holds no vectors.',
    );
    expect(refused(() => distances('l2', query, vectors([[1, 2]], new Float32()), null))).toBe(
      'mismatch: The query vector has 11 numbers, those of the column have 2.',
    );
  });
});
