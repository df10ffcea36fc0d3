import { disk } from '../../support/disk.ts';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Binary,
  Dictionary,
  Field,
  Float64,
  Int32,
  Int64,
  List,
  Schema,
  Utf8,
  vectorFromArray,
  type RecordBatch,
  type Vector,
} from 'apache-arrow';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchOf, slice } from '../../../src/arrow/select.ts';
import type { Extremes } from '../../../src/arrow/extremes.ts';
import { FileStatistics } from '../../../src/engine/format/file-statistics.ts';
import { FragmentWriter } from '../../../src/engine/format/fragment-writer.ts';
import { DATA } from '../../../src/engine/format/layout.ts';
import { StatisticsBytes, StatisticsCursor } from '../../../src/engine/format/statistics-bytes.ts';
import { StatisticsWriter } from '../../../src/engine/format/statistics-writer.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-statistics-'));
  await mkdir(join(folder, DATA));
});

afterAll(() => rm(folder, { recursive: true }));

function tableOf(columns: Readonly<Record<string, Vector>>): RecordBatch {
  const vectors = Object.values(columns);
  const fields = Object.entries(columns).map(([name, { type }]) => new Field(name, type, true));
  return batchOf(new Schema(fields), vectors, vectors[0]!.length);
}

/** Of one column what is known of all its rows. */
function knownOf(...vectors: readonly Vector[]): Extremes | undefined {
  const batches = vectors.map((vector) => tableOf({ c: vector }));
  return statisticsOf(batches).whole(0);
}

function statisticsOf(batches: readonly RecordBatch[]): FileStatistics {
  const writer = new StatisticsWriter(batches[0]!.schema);
  for (const batch of batches) writer.add(batch);
  const rows = batches.reduce((sum, { numRows }) => sum + numRows, 0);
  return new FileStatistics(writer.finish()!, rows);
}

const text = (value: string) => Buffer.from(value);

describe('what is known of a column', () => {
  it('are its nulls, its least and its greatest value', () => {
    expect(knownOf(vectorFromArray([3n, null, -7n, 2n ** 60n], new Int64()))).toEqual({
      rows: 4,
      nulls: 1,
      nan: false,
      bounds: { least: -7n, greatest: 2n ** 60n },
    });
  });

  it('is whether it has NaN, which is no bound', () => {
    expect(knownOf(vectorFromArray([NaN, -0.5, null, 2], new Float64()))).toEqual({
      rows: 4,
      nulls: 1,
      nan: true,
      bounds: { least: -0.5, greatest: 2 },
    });
    expect(knownOf(vectorFromArray([NaN, null], new Float64()))).toMatchObject({
      nan: true,
      bounds: null,
    });
  });

  it('are the first bytes of long texts, the greatest rounded up', () => {
    const long = `${'m'.repeat(31)}ab`;
    expect(knownOf(vectorFromArray([long, `${long}c`], new Utf8()))?.bounds).toEqual({
      least: text(long.slice(0, 32)),
      greatest: text(`${'m'.repeat(31)}b`),
    });
  });

  it('has no end above where no short text is greater', () => {
    const bytes = new Uint8Array(40).fill(255);
    const vector = vectorFromArray([bytes, new Uint8Array([1])], new Binary());
    expect(knownOf(vector)?.bounds).toEqual({ least: Buffer.from([1]), greatest: null });
  });

  it('is of the values of a dictionary that rows have', () => {
    const all = vectorFromArray(['a', 'b', 'z', null], new Dictionary(new Utf8(), new Int32()));
    const some = slice(tableOf({ c: all }), 1, 1).getChildAt(0)!;
    expect(knownOf(some)).toEqual({
      rows: 1,
      nulls: 0,
      nan: false,
      bounds: { least: text('b'), greatest: text('b') },
    });
  });

  it('are only the nulls of a list', () => {
    const vector = vectorFromArray([[1], null], new List(new Field('item', new Int32(), true)));
    expect(knownOf(vector)).toEqual({ rows: 2, nulls: 1, nan: false, bounds: null });
  });

  it('is of all batches together', () => {
    const batches = [[1n], [null], [5n, -5n]].map((values) => vectorFromArray(values, new Int64()));
    expect(knownOf(...batches)).toEqual({
      rows: 4,
      nulls: 1,
      nan: false,
      bounds: { least: -5n, greatest: 5n },
    });
  });
});

describe('the zones of a file', () => {
  const batches = (count: number) =>
    Array.from({ length: count }, (_, at) =>
      tableOf({ c: vectorFromArray([BigInt(2 * at), BigInt(2 * at + 1)], new Int64()) }),
    );

  it('are its batches while they are few', () => {
    const known = statisticsOf(batches(3));
    expect(known.batches).toBe(3);
    expect(known.zones).toEqual([
      { firstBatch: 0, batches: 1, firstRow: 0, rows: 2 },
      { firstBatch: 1, batches: 1, firstRow: 2, rows: 2 },
      { firstBatch: 2, batches: 1, firstRow: 4, rows: 2 },
    ]);
    expect(known.part(0, 1, 1)?.bounds).toEqual({ least: 2n, greatest: 3n });
    expect(known.part(0, 1, 2)?.bounds).toEqual({ least: 2n, greatest: 5n });
  });

  it.each([
    [64, 1],
    [65, 2],
    [129, 4],
    [1000, 16],
  ])('are at most 64: of %i batches each has %i', (count, size) => {
    const known = statisticsOf(batches(count));
    expect(known.zones.length).toBe(Math.ceil(count / size));
    expect(known.zones.slice(0, -1).every((zone) => zone.batches === size)).toBe(true);
    const covered = known.zones.reduce((sum, zone) => sum + zone.batches, 0);
    expect([covered, known.batches]).toEqual([count, count]);
    known.zones.forEach(({ firstBatch, firstRow, rows }) => {
      const least = BigInt(firstRow);
      const extremes = { least, greatest: least + BigInt(rows) - 1n };
      expect(known.part(0, firstBatch, 1)).toMatchObject({ rows, bounds: extremes });
    });
  });

  it('are fewer in a file of many columns, of which the first 128 are known', () => {
    const columns = Object.fromEntries(
      Array.from({ length: 200 }, (_, at) => [
        `c${at}`,
        vectorFromArray([BigInt(at)], new Int64()),
      ]),
    );
    const known = statisticsOf(Array.from({ length: 100 }, () => tableOf(columns)));
    expect(known.zones.length).toBe(25);
    expect(known.whole(127)?.bounds).toEqual({ least: 127n, greatest: 127n });
    expect(known.whole(128)).toBeUndefined();
  });
});

describe('a data file', () => {
  it('is written with what is known of it', async () => {
    const batch = tableOf({ id: vectorFromArray([1n, 9n], new Int64()) });
    const writer = await FragmentWriter.create({ storage: disk, folder }, batch.schema);
    await writer.write(batch);
    const { statistics, rows } = await writer.finish();
    expect(new FileStatistics(statistics!, rows).whole(0)?.bounds).toEqual({
      least: 1n,
      greatest: 9n,
    });
  });
});

describe('the bytes of statistics', () => {
  it('keep every value', () => {
    const values = fc.oneof(
      fc.bigInt({ min: -(2n ** 127n), max: 2n ** 127n - 1n }),
      fc.bigInt({ min: -300n, max: 300n }),
      fc.double({ noNaN: true }),
      fc.uint8Array({ maxLength: 32 }).map((bytes) => Buffer.from(bytes)),
    );
    fc.assert(
      fc.property(fc.nat(), fc.boolean(), values, fc.boolean(), (nulls, nan, value, open) => {
        const known = {
          rows: 5,
          nulls,
          nan,
          bounds: { least: value, greatest: open ? null : value },
        };
        const bytes = new StatisticsBytes();
        bytes.putCount(nulls * 1024);
        bytes.putExtremes(known);
        const cursor = new StatisticsCursor(bytes.finish());
        expect(cursor.count()).toBe(nulls * 1024);
        expect(cursor.extremes(5)).toEqual(known);
      }),
    );
  });
});
