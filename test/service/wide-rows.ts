import {
  CompressionType,
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int64,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  Utf8,
} from 'apache-arrow';
import { BufferRegion } from 'apache-arrow/ipc/metadata/message';
import { compressFrameSync } from 'lz4-napi';

/** Floats in each vector of a wide row. */
const DIMENSION = 100;
/** Bytes of each name. */
const NAME_BYTES = 40;
/** Bytes of a wide row in Arrow's layout: id, name and its offset, value, vector. */
export const WIDE_ROW_BYTES = 8 + NAME_BYTES + 4 + 8 + 4 * DIMENSION;

const vectorType = new FixedSizeList(DIMENSION, new Field('item', new Float32(), true));

/** Rows as wide as those of real tables: a key, a text, a number and a vector. */
export const wideSchema = new Schema([
  new Field('id', new Int64(), false),
  new Field('name', new Utf8(), false),
  new Field('value', new Float64(), true),
  new Field('vector', vectorType, true),
]);

/** A batch of wide rows whose ids follow one another. */
export function wideBatch(firstId: bigint, rows: number): RecordBatch {
  const ids = BigInt64Array.from({ length: rows }, (_, row) => firstId + BigInt(row));
  const names = Buffer.alloc(rows * NAME_BYTES);
  for (let row = 0; row < rows; row++) {
    names.write(`row ${ids[row]} `.padEnd(NAME_BYTES, 'abcdefgh'), row * NAME_BYTES, 'latin1');
  }
  const offsets = Int32Array.from({ length: rows + 1 }, (_, row) => row * NAME_BYTES);
  const values = Float64Array.from(ids, Number);
  const floats = new Float32Array(noise(rows * DIMENSION).buffer);
  const vectors = makeData({
    type: vectorType,
    length: rows,
    nullCount: 0,
    child: makeData({ type: new Float32(), data: floats }),
  });
  const children = [
    makeData({ type: new Int64(), data: ids }),
    makeData({ type: new Utf8(), length: rows, data: names, valueOffsets: offsets }),
    makeData({ type: new Float64(), data: values }),
    vectors,
  ];
  const type = new Struct(wideSchema.fields);
  return new RecordBatch(wideSchema, makeData({ type, length: rows, nullCount: 0, children }));
}

/** Bits of numbers between one and two that do not compress. */
function noise(length: number): Uint32Array {
  const bits = new Uint32Array(length);
  let state = 1;
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bits[at] = 0x3f_80_00_00 | (state >>> 9);
  }
  return bits;
}

/** How an Arrow stream of wide rows is made up. */
export interface WideStream {
  readonly batches: number;
  readonly rowsPerBatch: number;
  /** Bodies compressed as the LanceDB client does it. */
  readonly lz4?: boolean;
}

/**
 * The bytes of an Arrow stream of wide rows: first the schema, then one piece
 * for each batch, last the end. Ids count up from zero over all batches; the
 * other columns repeat, so that making them takes no time.
 */
export async function* wideStream(stream: WideStream): AsyncGenerator<Uint8Array> {
  const { batches, rowsPerBatch, lz4 = false } = stream;
  const template = wideBatch(0n, rowsPerBatch);
  const ids: BigInt64Array = template.data.children[0]!.values;
  const schema = streamOf([], lz4).subarray(0, -END_BYTES);
  yield schema;
  for (let batch = 0; batch < batches; batch++) {
    const first = BigInt(batch * rowsPerBatch);
    for (let row = 0; row < rowsPerBatch; row++) ids[row] = first + BigInt(row);
    yield streamOf([template], lz4).subarray(schema.length, -END_BYTES);
  }
  yield streamOf([], lz4).subarray(-END_BYTES);
}

/** Bytes of the marker that ends a stream. */
const END_BYTES = 8;

function streamOf(batches: readonly RecordBatch[], lz4: boolean): Uint8Array {
  const writer = lz4 ? new Lz4Writer() : new RecordBatchStreamWriter();
  writer.reset(undefined, wideSchema);
  for (const batch of batches) writer.write(batch);
  return writer.finish().toUint8Array(true);
}

/** Compresses as the LanceDB client does it. The package's own writer puts a wrong length before each buffer. */
class Lz4Writer extends RecordBatchStreamWriter {
  constructor() {
    super({ compressionType: CompressionType.LZ4_FRAME });
  }

  protected override _compressBodyBuffers(buffers: ArrayBufferView[]) {
    const regions: BufferRegion[] = [];
    const pieces: Uint8Array[] = [];
    let byteLength = 0;
    for (const { buffer, byteOffset, byteLength: length } of buffers) {
      const frame =
        length === 0 ? Buffer.alloc(0) : framed(Buffer.from(buffer, byteOffset, length));
      regions.push(new BufferRegion(byteLength, frame.length));
      const padding = new Uint8Array(-frame.length & 7);
      pieces.push(frame, padding);
      byteLength += frame.length + padding.length;
    }
    return { byteLength, bufferRegions: regions, buffers: pieces };
  }
}

/** The length of the bytes, then their LZ4 frame. */
function framed(bytes: Buffer): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigInt64LE(BigInt(bytes.length));
  return Buffer.concat([length, compressFrameSync(bytes)]);
}
