import { Message } from 'apache-arrow';
import {
  BufferRegion,
  DictionaryBatch,
  FieldNode,
  RecordBatch as BatchHeader,
} from 'apache-arrow/ipc/metadata/message';
import { batchMetadata, type BatchParts } from './metadata-encoding.ts';
import { framed } from './schema-encoding.ts';

/** Buffers begin at multiples of this many bytes, which the format recommends. */
export const bodyAlignment = 64;

const zeros = new Uint8Array(bodyAlignment);

/** A message as pieces of bytes, and the lengths of its two parts. */
export interface EncodedMessage {
  readonly pieces: readonly Uint8Array[];
  /** Bytes before the body, marker and length included. */
  readonly metadataBytes: number;
  readonly bodyBytes: number;
}

/** Collects the nodes and buffers of a batch, in the order in which its columns are visited. */
export class BodyWriter {
  readonly #alignment: number;
  /** Length and null count of each node. */
  readonly #nodes: number[] = [];
  /** Offset and length of each buffer. */
  readonly #regions: number[] = [];
  readonly #variadic: number[] = [];
  readonly #pieces: Uint8Array[] = [];
  #length = 0;

  /** @param alignment Buffers begin at multiples of this many bytes: a multiple of 8. */
  constructor(alignment = bodyAlignment) {
    this.#alignment = alignment;
  }

  node(length: number, nullCount: number): void {
    this.#nodes.push(length, nullCount);
  }

  /** Adds a buffer without copying it. */
  buffer(bytes: Uint8Array): void {
    this.#regions.push(this.#length, bytes.length);
    if (bytes.length === 0) return;
    this.#pieces.push(bytes);
    const padding = (this.#alignment - (bytes.length % this.#alignment)) % this.#alignment;
    if (padding > 0) this.#pieces.push(zeros.subarray(0, padding));
    this.#length += bytes.length + padding;
  }

  /** Notes how many data buffers a view column has. */
  variadic(count: number): void {
    this.#variadic.push(count);
  }

  /** Bytes of the body so far. */
  get length(): number {
    return this.#length;
  }

  /** The body so far. */
  get pieces(): readonly Uint8Array[] {
    return this.#pieces;
  }

  /** The numbers of the batch's metadata. */
  parts(rows: number): BatchParts {
    return {
      rows,
      bodyBytes: this.#length,
      nodes: this.#nodes,
      buffers: this.#regions,
      variadic: this.#variadic,
    };
  }

  /** The batch as a message that begins at `offset` of its file. */
  batch(rows: number, offset: number): EncodedMessage {
    return this.#framed(batchMetadata(this.parts(rows)), offset);
  }

  /** The values of a dictionary as a message that begins at `offset` of its file. */
  dictionary(id: number, isDelta: boolean, rows: number, offset: number): EncodedMessage {
    const header = new DictionaryBatch(this.#header(rows), id, isDelta);
    return this.#framed(Message.encode(Message.from(header, this.#length)), offset);
  }

  #header(rows: number): BatchHeader {
    const nodes = pairs(this.#nodes).map(([length, nulls]) => new FieldNode(length, nulls));
    const regions = pairs(this.#regions).map(([at, length]) => new BufferRegion(at, length));
    return new BatchHeader(rows, nodes, regions, null, this.#variadic);
  }

  #framed(encoded: Uint8Array, offset: number): EncodedMessage {
    const metadata = framed(encoded, offset, this.#alignment);
    const pieces = [metadata, ...this.#pieces];
    return { pieces, metadataBytes: metadata.length, bodyBytes: this.#length };
  }
}

function pairs(numbers: readonly number[]): readonly (readonly [number, number])[] {
  return Array.from({ length: numbers.length / 2 }, (_, at) => [
    numbers[2 * at]!,
    numbers[2 * at + 1]!,
  ]);
}
