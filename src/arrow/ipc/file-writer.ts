import type { RecordBatch, Schema } from 'apache-arrow';
import { BatchEncoder } from './batch-encoding.ts';
import { bodyAlignment, type EncodedMessage } from './body-writer.ts';
import type { Block } from './footer.ts';
import { endOfStream, fileMagic } from './framing.ts';
import { footerMetadata, type FileMetadata } from './metadata-encoding.ts';
import { schemaMessage } from './schema-encoding.ts';

const magic = Buffer.from(fileMagic, 'latin1');

type Between = (before: readonly Uint8Array[], tail: Uint8Array) => Uint8Array;

const NONE = new Uint8Array(0);

/** How a small file takes less room. */
export interface FileLayout {
  /**
   * Metadata of the schema, in the footer alone, in place of that of the schema that is given. Readers of
   * files use the footer alone.
   */
  readonly metadata?: FileMetadata;
  /** Buffers begin at multiples of this many bytes: a multiple of 8, 64 unless given. */
  readonly alignment?: number;
}

/** First bytes of files by schema, for the alignment that most have: they are the same in each file. */
const starts = new WeakMap<Schema, Uint8Array>();

function fileStart(writable: Schema, alignment: number): Uint8Array {
  const cached = alignment === bodyAlignment ? starts.get(writable) : undefined;
  if (cached !== undefined) return cached;
  const first = Buffer.concat([magic], 8);
  const start = Buffer.concat([first, schemaMessage(writable, first.length, alignment)]);
  if (alignment === bodyAlignment) starts.set(writable, start);
  return start;
}

/**
 * Writes the IPC file format (Arrow columnar format, "IPC File Format") as
 * pieces of bytes: `begin`, any number of batches, `end`, in this order. Rows
 * are not copied where their bytes stay as they are. Each column has one
 * dictionary, made of those of all batches and written at the end, which the
 * format allows in files.
 */
export class FileWriter {
  readonly #encoder: BatchEncoder;
  readonly #batches: Block[] = [];
  readonly #metadata: FileMetadata | undefined;
  readonly #alignment: number;
  #bytes = 0;
  #rows = 0;

  constructor(schema: Schema, { metadata, alignment = bodyAlignment }: FileLayout = {}) {
    this.#metadata = metadata;
    this.#alignment = alignment;
    this.#encoder = new BatchEncoder(schema, alignment);
  }

  /** Bytes handed out so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Rows of the batches so far. */
  get rows(): number {
    return this.#rows;
  }

  /** The file's first bytes and its schema. */
  begin(): Uint8Array {
    const start = fileStart(this.#encoder.writable, this.#alignment);
    this.#bytes = start.length;
    return start;
  }

  /**
   * One batch. Throws `mismatch` if its columns are not the schema's in its
   * order, `limit` if a joint dictionary is too large for its index type.
   */
  batch(batch: RecordBatch): readonly Uint8Array[] {
    const message = this.#encoder.encode(batch).batch(batch.numRows, this.#bytes);
    this.#batches.push(this.#place(message));
    this.#rows += batch.numRows;
    return message.pieces;
  }

  /** The latest batch again, from other memory. */
  repeat(batch: RecordBatch): readonly Uint8Array[] {
    const offset = this.#batches.at(-1)?.offset ?? 0;
    return this.#encoder.encode(batch).batch(batch.numRows, offset).pieces;
  }

  /** Counts a batch that is written elsewhere, to compute the length of a file. */
  count(message: Pick<EncodedMessage, 'metadataBytes' | 'bodyBytes'>): void {
    this.#batches.push(this.#place(message));
  }

  /**
   * The dictionaries, the footer and the file's last bytes.
   * @param between Makes what lies between the end of the stream and the footer, of what comes
   * before since the last batch and of what comes after. Its length must be a multiple of 8.
   */
  end(between: Between = () => NONE): Uint8Array {
    return Buffer.concat(this.endPieces(between));
  }

  /** The bytes of `end`, in pieces. */
  endPieces(between: Between = () => NONE): readonly Uint8Array[] {
    const pieces: Uint8Array[] = [];
    const dictionaries = this.#encoder.takeDictionaries().map((values) => {
      const message = values.body.dictionary(values.id, false, values.rows, this.#bytes);
      pieces.push(...message.pieces);
      return this.#place(message);
    });
    const { writable } = this.#encoder;
    const footer = footerMetadata(writable, this.#batches, dictionaries, this.#metadata);
    const length = Buffer.alloc(4);
    length.writeInt32LE(footer.length);
    const tail = Buffer.concat([footer, length, magic]);
    const block = between([...pieces, endOfStream], tail);
    this.#bytes += endOfStream.length + block.length + tail.length;
    return [...pieces, endOfStream, block, tail];
  }

  /** Position of a message by the footer; the next one follows it. */
  #place({ metadataBytes, bodyBytes }: Pick<EncodedMessage, 'metadataBytes' | 'bodyBytes'>): Block {
    const block = { offset: this.#bytes, metadataBytes, bodyBytes };
    this.#bytes += metadataBytes + bodyBytes;
    return block;
  }
}
