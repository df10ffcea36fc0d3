import { Message } from 'apache-arrow';
import {
  BufferRegion,
  DictionaryBatch,
  FieldNode,
  RecordBatch as BatchHeader,
} from 'apache-arrow/ipc/metadata/message';
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
  readonly #nodes: FieldNode[] = [];
  readonly #regions: BufferRegion[] = [];
  readonly #variadic: number[] = [];
  readonly #pieces: Uint8Array[] = [];
  #length = 0;

  node(length: number, nullCount: number): void {
    this.#nodes.push(new FieldNode(length, nullCount));
  }

  /** Adds a buffer without copying it. */
  buffer(bytes: Uint8Array): void {
    this.#regions.push(new BufferRegion(this.#length, bytes.length));
    if (bytes.length === 0) return;
    this.#pieces.push(bytes);
    const padding = (bodyAlignment - (bytes.length % bodyAlignment)) % bodyAlignment;
    if (padding > 0) this.#pieces.push(zeros.subarray(0, padding));
    this.#length += bytes.length + padding;
  }

  /** Notes how many data buffers a view column has. */
  variadic(count: number): void {
    this.#variadic.push(count);
  }

  /** The batch as a message that begins at `offset` of its file. */
  batch(rows: number, offset: number): EncodedMessage {
    return this.#encode(Message.from(this.#header(rows), this.#length), offset);
  }

  /** The values of a dictionary as a message that begins at `offset` of its file. */
  dictionary(id: number, isDelta: boolean, rows: number, offset: number): EncodedMessage {
    const header = new DictionaryBatch(this.#header(rows), id, isDelta);
    return this.#encode(Message.from(header, this.#length), offset);
  }

  #header(rows: number): BatchHeader {
    return new BatchHeader(rows, this.#nodes, this.#regions, null, this.#variadic);
  }

  #encode(message: Message, offset: number): EncodedMessage {
    const metadata = framed(Message.encode(message), offset, bodyAlignment);
    const pieces = [metadata, ...this.#pieces];
    return { pieces, metadataBytes: metadata.length, bodyBytes: this.#length };
  }
}
