import type { RecordBatch, Schema } from 'apache-arrow';
import { BatchEncoder } from './batch-encoding.ts';
import type { EncodedMessage } from './body-writer.ts';
import { endOfStream } from './framing.ts';
import { schemaMessage } from './schema-encoding.ts';

/**
 * Writes the IPC stream format (Arrow columnar format, "IPC Streaming Format")
 * as pieces of bytes: `begin`, any number of batches, `end`, in this order. A
 * dictionary is written before the batch that first uses it; values that later
 * batches add follow as delta dictionaries.
 */
export class StreamWriter {
  readonly #encoder: BatchEncoder;
  #bytes = 0;
  #rows = 0;

  constructor(schema: Schema) {
    this.#encoder = new BatchEncoder(schema);
  }

  /** Bytes handed out so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Rows of the batches so far. */
  get rows(): number {
    return this.#rows;
  }

  /** The schema. */
  begin(): Uint8Array {
    const schema = schemaMessage(this.#encoder.writable);
    this.#bytes = schema.length;
    return schema;
  }

  /**
   * One batch with the dictionary values that it needs. Throws `mismatch` if
   * its columns are not the schema's in its order, `limit` if a joint
   * dictionary is too large for its index type.
   */
  batch(batch: RecordBatch): readonly Uint8Array[] {
    const body = this.#encoder.encode(batch);
    const dictionaries = this.#encoder
      .takeDictionaries()
      .map((values) => values.body.dictionary(values.id, values.isDelta, values.rows, 0));
    this.#rows += batch.numRows;
    return [...dictionaries, body.batch(batch.numRows, 0)].flatMap((message) =>
      this.#count(message),
    );
  }

  /** The end-of-stream marker. */
  end(): Uint8Array {
    this.#bytes += endOfStream.length;
    return endOfStream;
  }

  #count(message: EncodedMessage): readonly Uint8Array[] {
    this.#bytes += message.metadataBytes + message.bodyBytes;
    return message.pieces;
  }
}
