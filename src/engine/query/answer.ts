import type { RecordBatch, Schema } from 'apache-arrow';
import { batchOfData } from '../../arrow/batch.ts';
import { ArrowError } from '../../arrow/errors.ts';
import { FileWriter } from '../../arrow/file-writer.ts';
import { nullsOf } from '../../arrow/nulls.ts';
import type { Answer, ByteStream } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { coalesce } from './coalesce.ts';

/** The Arrow IPC file format: the only one that every client reads (wire-contract section 6). */
const ARROW_FILE = 'application/vnd.apache.arrow.file';

/** The header by which a client learns which version it read (wire-contract section 1.8). */
const VERSION_HEADER = 'x-lancedb-version';

/** The headers of an answer that was read from a version of a table. */
export function versionHeaders(version: bigint): Readonly<Record<string, string>> {
  return { [VERSION_HEADER]: String(version) };
}

/** The version that an answer says it was read from. */
export function versionOfHeaders(headers: Answer['headers']): bigint | undefined {
  const text = headers?.[VERSION_HEADER];
  return text === undefined ? undefined : BigInt(text);
}

/** What an answer of rows is made of. */
export interface RowsAnswer {
  readonly schema: Schema;
  readonly batches: AsyncGenerator<RecordBatch>;
  readonly version: bigint;
  /** Aborted when nobody reads the answer any more. */
  readonly signal: AbortSignal;
  /** Told of memory that batches lay in, once they are sent. */
  readonly giveBack?: (memory: ArrayBufferLike) => void;
  /** The bodies of all batches in bytes, where that is known beforehand. */
  readonly sizes?: readonly number[] | null;
  /** Told before the end of an answer that came to something else: its connection is cut then. */
  readonly misjudged?: () => void;
}

/**
 * An answer of rows, as an Arrow file that is sent while the rows are still
 * being found. The first batch is found before this returns, so a fault in it
 * is still a refusal.
 */
export async function rowsAnswer(rows: RowsAnswer): Promise<Answer> {
  const batches = coalesce(rows.batches);
  closeOnAbort(batches, rows.signal);
  const first = await batches.next().catch(refuseTooLarge);
  const lasts: LastPieces = new WeakMap();
  const length = lengthOf(rows, first);
  const bytes = fileBytes({ ...rows, length }, first, batches, lasts);
  return fileAnswer(rows.version, {
    [Symbol.asyncIterator]: () => bytes,
    sent: (piece) => giveBack(rows, lasts.get(piece) ?? []),
    length,
  });
}

/**
 * How long the file will be; undefined where that is not known, or the first batch is not what was expected.
 * Messages of batches with the same columns differ in nothing but their bodies.
 */
function lengthOf(
  { schema, sizes }: RowsAnswer,
  { done, value }: IteratorResult<RecordBatch, void>,
): number | undefined {
  if (done === true || value === undefined || sizes == null) return undefined;
  const writer = new FileWriter(schema);
  const start = writer.begin().length;
  const metadataBytes = writer.batch(value)[0]?.length ?? 0;
  if (writer.bytes - start - metadataBytes !== sizes[0]) return undefined;
  for (const bodyBytes of sizes.slice(1)) writer.count({ metadataBytes, bodyBytes });
  writer.end();
  return writer.bytes;
}

/** The answer whose body is an Arrow file, read from a version of a table. */
export function fileAnswer(version: bigint, body: ByteStream): Answer {
  return { status: 200, contentType: ARROW_FILE, headers: versionHeaders(version), body };
}

/** Rows may be more than one column of their type can hold; that is no fault of the engine. */
function refuseTooLarge(error: unknown): never {
  if (!(error instanceof ArrowError) || error.kind !== 'limit') throw error;
  const advice = 'ask for fewer rows, or cast the column to a wider type';
  throw new CatalogError('InvalidInput', `${error.message.replace(/\.$/, '')}: ${advice}`);
}

/** The last piece of each batch, and all of its pieces. */
type LastPieces = WeakMap<Uint8Array, readonly Uint8Array[]>;

/** A batch is used nowhere else once it is part of the answer. */
function giveBack(rows: RowsAnswer, pieces: readonly Uint8Array[]): void {
  for (const memory of new Set(pieces.map(({ buffer }) => buffer))) rows.giveBack?.(memory);
}

/** A body that nobody ever begins to read is closed too. */
function closeOnAbort(batches: AsyncGenerator<RecordBatch>, signal: AbortSignal): void {
  const close = () => void batches.return(undefined).catch(() => undefined);
  if (signal.aborted) close();
  else signal.addEventListener('abort', close, { once: true });
}

async function* fileBytes(
  { schema, signal, length, misjudged }: RowsAnswer & { readonly length: number | undefined },
  first: IteratorResult<RecordBatch, void>,
  rest: AsyncGenerator<RecordBatch>,
  lasts: LastPieces,
): AsyncGenerator<Uint8Array> {
  const writer = new FileWriter(schema);
  try {
    yield writer.begin();
    // The client for Node learns the schema from batches alone.
    if (first.done === true) yield* writer.batch(noRows(schema));
    for (let next = first; next.done !== true; next = await rest.next()) {
      const pieces = writer.batch(next.value);
      lasts.set(pieces.at(-1)!, pieces);
      if (writer.bytes > (length ?? Infinity)) misjudged?.();
      yield* pieces;
    }
    // Batches that ended because of an abort must not look like all there are.
    signal.throwIfAborted();
    const end = writer.end();
    if (writer.bytes !== (length ?? writer.bytes)) misjudged?.();
    yield end;
  } finally {
    await rest.return(undefined);
  }
}

function noRows(schema: Schema): RecordBatch {
  const columns = schema.fields.map(({ type }) => nullsOf(type, 0));
  return batchOfData(schema, columns, 0);
}
