import type * as Arrow from 'apache-arrow';
import { peer } from '../harness/lancedb-peer.ts';

/** The Arrow classes that the LanceDB client uses: it takes no others. */
export const arrow: typeof Arrow = peer.arrow;

export const DIMENSION = 128;

/** Rows of one batch, as a client that streams would send them. */
const BATCH_ROWS = 10_000;
const NAME_BYTES = 20;

const vectorType = new arrow.FixedSizeList(
  DIMENSION,
  new arrow.Field('item', new arrow.Float32(), true),
);

const schema = new arrow.Schema([
  new arrow.Field('id', new arrow.Int64(), true),
  new arrow.Field('name', new arrow.Utf8(), true),
  new arrow.Field('value', new arrow.Float64(), true),
  new arrow.Field('vector', vectorType, true),
]);

/** A sequence of numbers from 0 to 1 that is the same in every run (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Rows of (id int64, name utf8, value float64, vector 128 × float32): ids
 * follow one another, values lie evenly between 0 and 1 in no order, so that
 * `value < 0.1` keeps a tenth of the rows, scattered over all of them.
 */
export function rowsFrom(
  firstId: number,
  count: number,
  vectorsOf: VectorSource = evenVectors,
): Arrow.Table {
  const next = randomNumbers(firstId + 1);
  const batches: Arrow.RecordBatch[] = [];
  for (let start = 0; start < count; start += BATCH_ROWS) {
    const rows = Math.min(BATCH_ROWS, count - start);
    batches.push(batchFrom(firstId + start, rows, next, vectorsOf));
  }
  return new arrow.Table(batches);
}

/** Makes vectors, one after the other, from random numbers. */
type VectorSource = (rows: number, next: () => number) => Float32Array;

/** Vectors of evenly random numbers. */
export const evenVectors: VectorSource = (rows, next) =>
  Float32Array.from({ length: rows * DIMENSION }, next);

/** Number of clusters, and the spread of the numbers of a vector around those of its centre. */
const CLUSTERS = 1000;
const SPREAD = 0.4;
const CENTRES_SEED = 77;

let centres: Float32Array | undefined;

/** Vectors in clusters, as embeddings lie: each near one of 1,000 random centres. */
export const clusteredVectors: VectorSource = (rows, next) => {
  centres ??= evenVectors(CLUSTERS, randomNumbers(CENTRES_SEED));
  const vectors = new Float32Array(rows * DIMENSION);
  for (let row = 0; row < rows; row++) {
    const centre = DIMENSION * Math.floor(next() * CLUSTERS);
    for (let at = 0; at < DIMENSION; at++) {
      const apart = (next() + next() - 1) * SPREAD;
      vectors[row * DIMENSION + at] = centres[centre + at]! + apart;
    }
  }
  return vectors;
};

/** A vector to search for. */
export function queryVector(seed: number, vectorsOf: VectorSource = evenVectors): Float32Array {
  return vectorsOf(1, randomNumbers(seed));
}

function batchFrom(
  firstId: number,
  rows: number,
  next: () => number,
  vectorsOf: VectorSource,
): Arrow.RecordBatch {
  const { makeData } = arrow;
  const ids = BigInt64Array.from({ length: rows }, (_, row) => BigInt(firstId + row));
  const values = Float64Array.from({ length: rows }, next);
  const floats = vectorsOf(rows, next);
  const vectors = makeData({
    type: vectorType,
    length: rows,
    nullCount: 0,
    child: makeData({ type: new arrow.Float32(), data: floats }),
  });
  const children = [
    makeData({ type: new arrow.Int64(), data: ids }),
    names(firstId, rows),
    makeData({ type: new arrow.Float64(), data: values }),
    vectors,
  ];
  const type = new arrow.Struct(schema.fields);
  return new arrow.RecordBatch(schema, makeData({ type, length: rows, nullCount: 0, children }));
}

function names(firstId: number, rows: number): Arrow.Data<Arrow.Utf8> {
  const data = Buffer.alloc(rows * NAME_BYTES);
  for (let row = 0; row < rows; row++) {
    data.write(`name of row ${firstId + row}`.padEnd(NAME_BYTES), row * NAME_BYTES, 'latin1');
  }
  const valueOffsets = Int32Array.from({ length: rows + 1 }, (_, row) => row * NAME_BYTES);
  return arrow.makeData({ type: new arrow.Utf8(), length: rows, data, valueOffsets });
}
