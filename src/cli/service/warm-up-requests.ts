import { Field, FixedSizeList, Float32, Float64, Int64, Schema, Utf8 } from 'apache-arrow';
import { batchOfData, dataOf } from '../../arrow/data.ts';
import { streamOf } from '../../engine/workers/formula-task.ts';

/** A POST request. */
export interface WarmUpRequest {
  readonly path: string;
  readonly type: string;
  readonly body: Uint8Array;
}

const ARROW = 'application/vnd.apache.arrow.stream';
const JSON_TYPE = 'application/json';
const DIMENSION = 16;
const NAME_BYTES = 12;
/** Measured: with a fifth of them the first merges into a large table took half as much processor time again. */
const LARGE_ROWS = 20_000;
const MERGED_ROWS = 1000;
const FEW_ROWS = 10;

const UPSERT = 'on=id&when_matched_update_all=true&when_not_matched_insert_all=true';

/** Measured: with more turns the first requests become no faster. */
const TURNS = 4;
const APPENDS = 6;
const MERGES = 6;
const COUNTS = 3;

/** The requests of a warm-up in their order: the common operations on rows, on two tables. */
export function* warmUpRequests(): Generator<WarmUpRequest> {
  const few = rowsFrom(0, FEW_ROWS);
  const merged = rowsFrom(LARGE_ROWS - MERGED_ROWS / 2, MERGED_ROWS);
  yield arrow('large/create', rowsFrom(0, LARGE_ROWS));
  yield arrow('small/create', few);
  for (let turn = 0; turn < TURNS; turn++) {
    for (let time = 0; time < APPENDS; time++) yield arrow('small/insert', few);
    for (let time = 0; time < MERGES; time++) yield arrow(`large/merge_insert?${UPSERT}`, merged);
    for (let time = 0; time < COUNTS; time++) {
      yield json('large/count_rows', { predicate: 'value < 0.1' });
    }
    yield* reads(turn);
    yield json('large/delete', {
      predicate: `id >= ${turn * FEW_ROWS} AND id < ${turn * FEW_ROWS + FEW_ROWS}`,
    });
  }
  yield json('small/drop', {});
}

function* reads(turn: number): Generator<WarmUpRequest> {
  yield json('large/describe', {});
  yield json('large/query', {});
  yield json('large/query', { filter: `id = ${turn}`, columns: { column_names: ['id', 'name'] } });
  const vector = { single_vector: Array.from({ length: DIMENSION }, () => turn / TURNS) };
  yield json('large/query', { vector, k: FEW_ROWS });
}

function arrow(path: string, body: Uint8Array): WarmUpRequest {
  return { path: `/v1/table/${path}`, type: ARROW, body };
}

function json(path: string, value: object): WarmUpRequest {
  return { path: `/v1/table/${path}`, type: JSON_TYPE, body: Buffer.from(JSON.stringify(value)) };
}

const vectorType = new FixedSizeList(DIMENSION, new Field('item', new Float32(), true));
const schema = new Schema([
  new Field('id', new Int64(), true),
  new Field('name', new Utf8(), true),
  new Field('value', new Float64(), true),
  new Field('vector', vectorType, true),
]);

/** An Arrow stream of rows whose ids follow one another. */
function rowsFrom(first: number, count: number): Uint8Array {
  const whole = { length: count, nullCount: 0 };
  const ids = BigInt64Array.from({ length: count }, (_, row) => BigInt(first + row));
  const offsets = Int32Array.from({ length: count + 1 }, (_, row) => row * NAME_BYTES);
  const numbers = Float64Array.from({ length: count }, (_, row) => (row % 89) / 89);
  const floats = Float32Array.from({ length: count * DIMENSION }, (_, at) => (at % 97) / 97);
  const item = dataOf(new Float32(), { length: floats.length, nullCount: 0, values: floats });
  const columns = [
    dataOf(new Int64(), { ...whole, values: ids }),
    dataOf(new Utf8(), {
      ...whole,
      offsets,
      values: Buffer.alloc(count * NAME_BYTES, 'name of a row'),
    }),
    dataOf(new Float64(), { ...whole, values: numbers }),
    dataOf(vectorType, { ...whole, children: [item] }),
  ];
  return Buffer.concat(streamOf(batchOfData(schema, columns, count)));
}
