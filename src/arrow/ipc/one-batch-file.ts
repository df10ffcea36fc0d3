import type { RecordBatch, Schema } from 'apache-arrow';
import { hasDictionary, hasViews } from '../nested-type.ts';
import { BatchEncoder } from './batch-encoding.ts';
import type { BodyWriter } from './body-writer.ts';
import { FileWriter } from './file-writer.ts';
import { endOfStream } from './framing.ts';
import { blockPlace, setBatchNumbers, setBodyBytes } from './metadata-encoding.ts';

/** Files of one schema with one batch, which differ only in some numbers and in the body between both parts. */
interface KnownFile {
  readonly encoder: BatchEncoder;
  /** What comes before the body: the schema and the metadata of the batch. */
  readonly head: Uint8Array;
  /** Position of the batch's metadata. */
  readonly metadata: number;
  /** What comes after the body: the end of the stream and the footer. */
  readonly tail: Uint8Array;
  /** Position of the batch's block behind the body. */
  readonly block: number;
}

const known = new WeakMap<Schema, KnownFile>();
/** Schemas of a file before: those of computed columns are mostly used once. */
const seen = new WeakSet<Schema>();

/**
 * An IPC file of one batch, as `FileWriter` writes it. Most answers are such files of few schemas: only the numbers
 * and the body of one that is like the last one are written.
 */
export class OneBatchFile {
  /** Bytes of the columns, padding included. */
  readonly bodyBytes: number;
  /** The bytes of the columns, and between them padding: views of the memory of the batch or copies. */
  readonly pieces: readonly Uint8Array[];
  readonly #bytes: () => Uint8Array;

  constructor(schema: Schema, batch: RecordBatch) {
    const like = known.get(schema);
    if (like === undefined) {
      const writer = new FileWriter(schema);
      const start = writer.begin();
      const [metadata = NONE, ...pieces] = writer.batch(batch);
      this.pieces = pieces;
      this.bodyBytes = writer.bytes - start.length - metadata.length;
      this.#bytes = () => written(schema, [start, metadata], pieces, writer.endPieces());
    } else {
      const body = like.encoder.encode(batch);
      this.pieces = body.pieces;
      this.bodyBytes = body.length;
      this.#bytes = () => filled(like, body, batch.numRows);
    }
  }

  /** The file. Call it once. */
  bytes(): Uint8Array {
    return this.#bytes();
  }
}

const NONE = new Uint8Array(0);

/** The first files of a schema; the next ones are made like the second. Those with dictionaries or views vary more. */
function written(
  schema: Schema,
  start: readonly [Uint8Array, Uint8Array],
  body: readonly Uint8Array[],
  end: readonly Uint8Array[],
): Uint8Array {
  if (seen.has(schema)) learn(schema, start, end);
  else if (!schema.fields.some(({ type }) => hasDictionary(type) || hasViews(type)))
    seen.add(schema);
  return Buffer.concat([...start, ...body, ...end]);
}

function learn(
  schema: Schema,
  start: readonly [Uint8Array, Uint8Array],
  end: readonly Uint8Array[],
): void {
  const encoder = new BatchEncoder(schema);
  known.set(schema, {
    encoder,
    head: Buffer.concat(start),
    metadata: start[0].length + PREFIX,
    tail: Buffer.concat(end),
    block: endOfStream.length + blockPlace(encoder.writable),
  });
}

/** Bytes of the marker and the length before the metadata of a message. */
const PREFIX = 8;

function filled(like: KnownFile, body: BodyWriter, rows: number): Uint8Array {
  const { head, tail } = like;
  const end = head.length + body.length;
  const file = Buffer.allocUnsafe(end + tail.length);
  file.set(head);
  let at = head.length;
  for (const piece of body.pieces) {
    file.set(piece, at);
    at += piece.length;
  }
  file.set(tail, end);
  const view = new DataView(file.buffer, file.byteOffset, file.length);
  setBatchNumbers(view, like.metadata, body.parts(rows));
  setBodyBytes(view, end + like.block, body.length);
  return file;
}
