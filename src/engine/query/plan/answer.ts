import type { RecordBatch, Schema } from 'apache-arrow';
import { batchOfData } from '../../../arrow/data.ts';
import { ArrowError } from '../../../arrow/arrow-error.ts';
import { FileWriter } from '../../../arrow/ipc/file-writer.ts';
import { nullsOf } from '../../../arrow/nullability.ts';
import type { Answer, ByteStream } from '../../../protocol/backend.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { coalesce, isLarge } from '../scan/rows.ts';
import type { BatchSize } from '../../format/stored-sizes.ts';
import type { BatchSource } from '../scan/fragment-reader.ts';
import type { QueryPlan } from './plan.ts';
import { columnsOf } from '../scan/projection.ts';

/** Greatest number of fragments whose files are opened before an answer begins. */
const MOST_FRAGMENTS = 128;

/**
 * Body sizes of an answer's batches in bytes, if each stored batch is sent unchanged; null
 * otherwise.
 */
export async function answerSizes(
  plan: QueryPlan,
  source: BatchSource,
): Promise<readonly number[] | null> {
  if (source.sizes === undefined || !passesBatchesOn(plan)) return null;
  const all: BatchSize[] = [];
  for (const { fragment, batches } of plan.files) {
    const sizes = await source.sizes(plan.snapshot, fragment, columnsOf(plan.projections));
    if (sizes === null) return null;
    all.push(...(batches ? sizes.slice(batches.first, batches.first + batches.count) : sizes));
  }
  const rows = all.reduce((sum, size) => sum + size.rows, 0);
  if ((plan.window.limit ?? Infinity) < rows || !isSentApart(all)) return null;
  return all.map(({ bodyBytes }) => bodyBytes);
}

function passesBatchesOn({
  files,
  filter,
  nearest,
  text,
  sort,
  window,
  projections,
  need,
}: QueryPlan): boolean {
  const asTheyLie = filter === null && nearest === null && text === null && sort === null;
  const whole = window.offset === 0 && need.placed.length === 0 && files.length <= MOST_FRAGMENTS;
  return (
    asTheyLie &&
    whole &&
    projections.every((each) => each.kind === 'path' && each.path.formula === null) &&
    files.every((file) => file.lookup === undefined && file.chosen === undefined) &&
    files.every(({ fragment }) => fragment.deletions === null)
  );
}

/** Whether no batches are joined: of two consecutive ones at least one is large. */
function isSentApart(sizes: readonly BatchSize[]): boolean {
  let largeBefore = true;
  return sizes.every((size) => {
    const large = isLarge(size);
    const apart = size.rows > 0 && size.bodyBytes > 0 && (large || largeBefore);
    largeBefore = large;
    return apart;
  });
}

/** The Arrow IPC file format: the only one that every client reads. */
const ARROW_FILE = 'application/vnd.apache.arrow.file';

/** Header with the version that was read. */
const VERSION_HEADER = 'x-lancedb-version';

/** Headers of an answer from a version of a table. */
export function versionHeaders(version: bigint): Readonly<Record<string, string>> {
  return { [VERSION_HEADER]: String(version) };
}

/** The version in an answer's headers. */
export function versionOfHeaders(headers: Answer['headers']): bigint | undefined {
  const text = headers?.[VERSION_HEADER];
  return text === undefined ? undefined : BigInt(text);
}

/** Parts of an answer with rows. */
interface RowsAnswer {
  readonly schema: Schema;
  readonly batches: AsyncGenerator<RecordBatch>;
  readonly version: bigint;
  /** Aborted when the client is gone; a function makes it for streamed answers. */
  readonly signal: AbortSignal | (() => AbortSignal);
  /** Called with the memory of batches after they are sent. */
  readonly giveBack?: (memory: ArrayBufferLike) => void;
  /** Body sizes of all batches in bytes, if known in advance. */
  readonly sizes?: readonly number[] | null;
  /**
   * Called before the end of an answer of another size than announced: its connection is cut then.
   */
  readonly misjudged?: () => void;
}

/**
 * An answer of rows, as an Arrow file that is sent while the rows are still
 * being found. The first batch is found before this returns, so a fault in it
 * is still a refusal.
 */
export async function rowsAnswer(rows: RowsAnswer): Promise<Answer> {
  const batches = coalesce(rows.batches);
  const first = await batches.next().catch(refuseTooLarge);
  const file = new SmallFile(rows.schema, first.done === true ? undefined : first.value);
  if (first.done === true) return wholeAnswer(rows, file);
  if (!file.isSmall) return streamedAnswer(rows, [first.value], batches);
  // A small batch is the last, or the next one is already available (see `coalesce`).
  const second = await batches.next().catch(refuseTooLarge);
  if (second.done === true) return wholeAnswer(rows, file);
  return streamedAnswer(rows, [first.value, second.value], batches);
}

/** Larger batches are sent as they are found. */
const SMALL = { rows: 1024, bytes: 2 ** 15 };

/** A file of at most one batch, which is not copied before it is known to be complete. */
class SmallFile {
  readonly isSmall: boolean;
  readonly pieces: readonly Uint8Array[];
  readonly #writer: FileWriter;
  readonly #start: Uint8Array;

  constructor(schema: Schema, batch: RecordBatch = noRows(schema)) {
    this.#writer = new FileWriter(schema);
    this.#start = this.#writer.begin();
    const mayBeSmall = batch.numRows < SMALL.rows;
    this.pieces = mayBeSmall ? this.#writer.batch(batch) : [];
    this.isSmall = mayBeSmall && this.#writer.bytes <= this.#start.length + SMALL.bytes;
  }

  bytes(): Uint8Array {
    return Buffer.concat([this.#start, ...this.pieces, this.#writer.end()]);
  }
}

/** All rows are found: sends the file in one piece. */
function wholeAnswer(rows: RowsAnswer, file: SmallFile): Answer {
  const whole = file.bytes();
  giveBack(rows, file.pieces);
  return fileAnswer(rows.version, wholeBytes(whole));
}

function wholeBytes(whole: Uint8Array): ByteStream {
  return {
    async *[Symbol.asyncIterator]() {
      yield whole;
    },
    length: whole.byteLength,
    whole,
  };
}

/** @param found The batches that were found already. */
function streamedAnswer(
  rows: RowsAnswer,
  found: readonly [RecordBatch, ...RecordBatch[]],
  batches: AsyncGenerator<RecordBatch>,
): Answer {
  const signal = typeof rows.signal === 'function' ? rows.signal() : rows.signal;
  closeOnAbort(batches, signal);
  const lasts: LastPieces = new WeakMap();
  const length = lengthOf(rows, found[0]);
  const bytes = fileBytes({ ...rows, signal, length }, found, batches, lasts);
  return fileAnswer(rows.version, {
    [Symbol.asyncIterator]: () => bytes,
    sent: (piece) => giveBack(rows, lasts.get(piece) ?? []),
    length,
  });
}

/**
 * Length of the file; undefined if unknown, or if the first batch has an unexpected size. Messages
 * of batches with the same columns differ only in their bodies.
 */
function lengthOf({ schema, sizes }: RowsAnswer, first: RecordBatch): number | undefined {
  if (sizes == null) return undefined;
  const writer = new FileWriter(schema);
  const start = writer.begin().length;
  const metadataBytes = writer.batch(first)[0]?.length ?? 0;
  if (writer.bytes - start - metadataBytes !== sizes[0]) return undefined;
  for (const bodyBytes of sizes.slice(1)) writer.count({ metadataBytes, bodyBytes });
  writer.end();
  return writer.bytes;
}

/** The answer whose body is an Arrow file, read from a version of a table. */
export function fileAnswer(version: bigint, body: ByteStream): Answer {
  return { status: 200, contentType: ARROW_FILE, headers: versionHeaders(version), body };
}

/** Too many rows for one column are not a fault of the engine. */
function refuseTooLarge(error: unknown): never {
  if (!(error instanceof ArrowError) || error.kind !== 'limit') throw error;
  const advice = 'ask for fewer rows, or cast the column to a wider type';
  throw new CatalogError('InvalidInput', `${error.message.replace(/\.$/, '')}: ${advice}`);
}

/** All pieces of each batch by its last piece. */
type LastPieces = WeakMap<Uint8Array, readonly Uint8Array[]>;

/** Returns the memory of a sent batch, which is used nowhere else. */
function giveBack(rows: RowsAnswer, pieces: readonly Uint8Array[]): void {
  for (const memory of new Set(pieces.map(({ buffer }) => buffer))) rows.giveBack?.(memory);
}

/** Closes a body that is never read. */
function closeOnAbort(batches: AsyncGenerator<RecordBatch>, signal: AbortSignal): void {
  const close = () => void batches.return(undefined).catch(() => undefined);
  if (signal.aborted) close();
  else signal.addEventListener('abort', close, { once: true });
}

interface Streamed extends RowsAnswer {
  readonly signal: AbortSignal;
  readonly length: number | undefined;
}

async function* fileBytes(
  { schema, signal, length, misjudged }: Streamed,
  found: readonly RecordBatch[],
  rest: AsyncGenerator<RecordBatch>,
  lasts: LastPieces,
): AsyncGenerator<Uint8Array> {
  const writer = new FileWriter(schema);
  try {
    yield writer.begin();
    for (let at = 0; ; at++) {
      const batch = found[at] ?? (await rest.next()).value;
      if (batch === undefined) break;
      const pieces = writer.batch(batch);
      const last = pieces.at(-1);
      if (last !== undefined) lasts.set(last, pieces);
      if (writer.bytes > (length ?? Infinity)) misjudged?.();
      yield* pieces;
    }
    // An aborted sequence must not look complete.
    signal.throwIfAborted();
    const end = writer.end();
    if (writer.bytes !== (length ?? writer.bytes)) misjudged?.();
    yield end;
  } finally {
    await rest.return(undefined);
  }
}

/** The Node client takes the schema from batches. */
function noRows(schema: Schema): RecordBatch {
  const columns = schema.fields.map(({ type }) => nullsOf(type, 0));
  return batchOfData(schema, columns, 0);
}
