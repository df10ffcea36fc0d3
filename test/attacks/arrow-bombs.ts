import zstd from '@foxglove/wasm-zstd';
import {
  CompressionType,
  Field,
  Int64,
  makeData,
  Null,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  type DataType,
} from 'apache-arrow';
import { BufferRegion } from 'apache-arrow/ipc/metadata/message';
import { compressFrameSync } from 'lz4-napi';
import type { PackedBatch } from '../../src/arrow/ipc/body.ts';
import type { Codec } from '../../src/arrow/ipc/message.ts';

/** An Arrow stream of one column of zeros, compressed: few bytes that become many. */
export async function zeros(
  codec: Codec,
  batches: number,
  rowsPerBatch: number,
): Promise<Uint8Array> {
  await zstd.isLoaded;
  const type = new Int64();
  const values = new BigInt64Array(rowsPerBatch);
  const data = makeData({ type, length: rowsPerBatch, nullCount: 0, data: values });
  return streamOf(new PackedWriter(codec), type, data, batches);
}

/** A batch with as many buffers of zeros, compressed. */
export async function packedBatch(
  codec: Codec,
  buffers: number,
  bytesPerBuffer: number,
): Promise<PackedBatch> {
  await zstd.isLoaded;
  const one = packedZeros(codec, bytesPerBuffer);
  const body = new Uint8Array(one.length * buffers);
  const regions = Array.from(
    { length: buffers },
    (_, at) => [at * one.length, one.length] as const,
  );
  for (const [offset] of regions) body.set(one, offset);
  return { codec, regions, body };
}

/** An Arrow stream of one column without a single value, which takes no bytes whatever its rows are. */
export function nulls(batches: number, rowsPerBatch: number): Uint8Array {
  const type = new Null();
  const data = makeData({ type, length: rowsPerBatch });
  return streamOf(new RecordBatchStreamWriter(), type, data, batches);
}

function streamOf(
  writer: RecordBatchStreamWriter,
  type: DataType,
  column: ReturnType<typeof makeData>,
  batches: number,
): Uint8Array {
  const schema = new Schema([new Field('n', type, true)]);
  const { length } = column;
  const struct = makeData({ type: new Struct(schema.fields), length, children: [column] });
  const batch = new RecordBatch(schema, struct);
  writer.reset(undefined, schema);
  for (let count = 0; count < batches; count++) writer.write(batch);
  return writer.finish().toUint8Array(true);
}

/** Compresses each buffer, once for all batches: they are alike. */
class PackedWriter extends RecordBatchStreamWriter {
  readonly #codec: Codec;
  readonly #packed = new Map<number, Uint8Array>();

  constructor(codec: Codec) {
    const { LZ4_FRAME, ZSTD } = CompressionType;
    super({ compressionType: codec === 'lz4' ? LZ4_FRAME : ZSTD });
    this.#codec = codec;
  }

  protected override _compressBodyBuffers(buffers: ArrayBufferView[]) {
    const bufferRegions: BufferRegion[] = [];
    const pieces: Uint8Array[] = [];
    let byteLength = 0;
    for (const { byteLength: length } of buffers) {
      const packed = this.#pack(length);
      bufferRegions.push(new BufferRegion(byteLength, packed.length));
      const padding = new Uint8Array(-packed.length & 7);
      pieces.push(packed, padding);
      byteLength += packed.length + padding.length;
    }
    return { byteLength, bufferRegions, buffers: pieces };
  }

  #pack(length: number): Uint8Array {
    const known = this.#packed.get(length);
    if (known !== undefined) return known;
    const packed = packedZeros(this.#codec, length);
    this.#packed.set(length, packed);
    return packed;
  }
}

/** A compressed buffer of zeros: their number, then their frame. ZSTD must be loaded. */
function packedZeros(codec: Codec, length: number): Uint8Array {
  if (length === 0) return new Uint8Array(0);
  const begin = Buffer.alloc(8);
  begin.writeBigInt64LE(BigInt(length));
  const bytes = Buffer.alloc(length);
  const frame = codec === 'lz4' ? compressFrameSync(bytes) : zstd.compress(bytes, 3);
  return Buffer.concat([begin, frame]);
}
