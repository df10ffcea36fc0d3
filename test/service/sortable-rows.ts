import {
  Field,
  Float64,
  Int64,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  Utf8,
} from 'apache-arrow';

const NAME_BYTES = 12;
const ROWS_PER_BATCH = 50_000;
/** Names are numbers in an order of their own: it has no divisor in common with how many there are. */
const STRIDE = 7919;

const schema = new Schema([
  new Field('id', new Int64(), false),
  new Field('value', new Float64(), false),
  new Field('name', new Utf8(), false),
]);

/** The name that comes at a place when rows are sorted by it. */
export function nameAt(place: number): string {
  return `row ${String(place).padStart(NAME_BYTES - 4, '0')}`;
}

/** The bytes of an Arrow stream of rows in no order of their names, 50,000 in each batch. */
export async function* sortableStream(batches: number): AsyncGenerator<Uint8Array> {
  const rows = batches * ROWS_PER_BATCH;
  const whole = (of: readonly RecordBatch[]) => {
    const writer = new RecordBatchStreamWriter();
    writer.reset(undefined, schema);
    for (const batch of of) writer.write(batch);
    return writer.finish().toUint8Array(true);
  };
  const head = whole([]).subarray(0, -END_BYTES);
  yield head;
  for (let first = 0; first < rows; first += ROWS_PER_BATCH) {
    yield whole([batchFrom(first, rows)]).subarray(head.length, -END_BYTES);
  }
  yield whole([]).subarray(-END_BYTES);
}

/** Bytes of the marker that ends a stream. */
const END_BYTES = 8;

function batchFrom(first: number, of: number): RecordBatch {
  const length = ROWS_PER_BATCH;
  const names = Buffer.alloc(length * NAME_BYTES);
  for (let row = 0; row < length; row++) {
    names.write(nameAt(((first + row) * STRIDE) % of), row * NAME_BYTES, 'latin1');
  }
  const valueOffsets = Int32Array.from({ length: length + 1 }, (_, row) => row * NAME_BYTES);
  const ids = BigInt64Array.from({ length }, (_, row) => BigInt(first + row));
  const children = [
    makeData({ type: new Int64(), data: ids }),
    makeData({ type: new Float64(), data: Float64Array.from(ids, Number) }),
    makeData({ type: new Utf8(), length, data: names, valueOffsets }),
  ];
  const type = new Struct(schema.fields);
  return new RecordBatch(schema, makeData({ type, length, nullCount: 0, children }));
}
