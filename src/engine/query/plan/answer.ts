import { crc32 } from '@node-rs/crc32';
import type { RecordBatch, Schema } from 'apache-arrow';
import { batchOfData } from '../../../arrow/data.ts';
import { ArrowError } from '../../../arrow/arrow-error.ts';
import { FileWriter } from '../../../arrow/ipc/file-writer.ts';
import { OneBatchFile } from '../../../arrow/ipc/one-batch-file.ts';
import { nullsOf } from '../../../arrow/nullability.ts';
import type { Answer, ByteStream } from '../../../protocol/backend.ts';
import { isAvailable, type MaybePromise } from '../../../protocol/maybe-promise.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { AnswerMemory } from '../../format/memory/answer-memory.ts';
import { coalesce, isLarge } from '../scan/rows.ts';
import type { BatchSize } from '../../format/stored-sizes.ts';
import type { BatchSource } from '../scan/batch-source.ts';
import {
  RepeatableBody,
  before,
  behind,
  type Portion,
  type PortionSource,
  type SentRows,
} from './answer-body.ts';
import type { QueryPlan } from './plan.ts';
import { columnsRead } from '../scan/projection.ts';
import type { ReservedBytes } from './reserved-bytes.ts';

/** Greatest number of fragments whose files are opened before an answer begins. */
const MOST_FRAGMENTS = 128;

/**
 * Body sizes of an answer's batches in bytes, if each stored batch is sent unchanged; null
 * otherwise.
 */
export function answerSizes(
  plan: QueryPlan,
  source: BatchSource,
): MaybePromise<readonly number[] | null> {
  return source.sizes !== undefined && passesBatchesOn(plan) ? passedSizes(plan, source) : null;
}

async function passedSizes(
  plan: QueryPlan,
  source: BatchSource,
): Promise<readonly number[] | null> {
  const all: BatchSize[] = [];
  for (const { fragment, batches } of plan.files) {
    const sizes = await source.sizes!(plan.snapshot, fragment, columnsRead(plan.projections));
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
  /** Finds all rows at once if they are few; null if `batches` has to find them. */
  readonly few?: () => MaybePromise<readonly RecordBatch[] | null>;
  readonly version: bigint;
  /** Aborted when the client is gone; a function makes it for streamed answers. */
  readonly signal: AbortSignal | (() => AbortSignal);
  /**
   * Memory that answers in flight share. If absent it is unlimited, and a piece of the answer is valid
   * until the next one is read.
   */
  readonly memory?: AnswerMemory | undefined;
  /** Memory to take before rows are read. */
  readonly reserve?: ReservedBytes;
  /** Produces the batches after those that were sent; absent if the work cannot be repeated. */
  readonly after?: (sent: SentRows) => AsyncGenerator<RecordBatch>;
  /** Whether memory belongs to the cache. */
  readonly isCached?: (memory: ArrayBufferLike) => boolean;
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
  const { memory, signal, reserve = NOTHING } = rows;
  const waits = typeof signal === 'function' ? signal : () => signal;
  const taken = memory?.take(reserve.reserved, { signal: waits });
  if (taken !== undefined) await taken;
  let streams = false;
  try {
    const answer = await begunAnswer(rows);
    streams = answer.body instanceof RepeatableBody;
    return answer;
  } finally {
    if (!streams) memory?.adjust(-reserve.reserved);
  }
}

const NOTHING: ReservedBytes = { reserved: 0, isKept: false };

async function begunAnswer(rows: RowsAnswer): Promise<Answer> {
  const { schema } = rows;
  const looking = fewBatches(rows);
  const few = isAvailable(looking) ? looking : await looking;
  const whole = few === null ? undefined : onlyAnswer(rows, few);
  if (whole !== undefined) return whole;
  const batches = coalesce(few === null ? rows.batches : eachOf(few));
  const { value: first } = await batches.next().catch(refuseTooLarge);
  if (first === undefined) return emptyAnswer(rows);
  const file = smallFile(schema, first);
  if (file === undefined) return streamedAnswer(rows, [first], batches);
  // A small batch is the last, or the next one is already available (see `coalesce`).
  const { value: second } = await batches.next().catch(refuseTooLarge);
  if (second === undefined) return wholeAnswer(rows, file, first.numRows);
  return streamedAnswer(rows, [first, second], batches);
}

/** The answer of a few rows in at most one batch; undefined for others. */
function onlyAnswer(rows: RowsAnswer, few: readonly RecordBatch[]): Answer | undefined {
  const [only, ...more] = few;
  if (only === undefined) return emptyAnswer(rows);
  const file = more.length === 0 ? smallFile(rows.schema, only) : undefined;
  return file && wholeAnswer(rows, file, only.numRows);
}

function emptyAnswer(rows: RowsAnswer): Answer {
  return wholeAnswer(rows, new OneBatchFile(rows.schema, noRows(rows.schema)), 0);
}

function fewBatches({ few }: RowsAnswer): MaybePromise<readonly RecordBatch[] | null> {
  try {
    const found = few?.() ?? null;
    return isAvailable(found) ? found : found.catch(refuseTooLarge);
  } catch (error) {
    return refuseTooLarge(error);
  }
}

async function* eachOf(batches: readonly RecordBatch[]): AsyncGenerator<RecordBatch> {
  yield* batches;
}

/** Larger batches are sent as they are found. */
const SMALL = { rows: 1024, bytes: 2 ** 15 };

/** A file of one batch, which is not copied before it is known to be complete; undefined for a batch that is not small. */
function smallFile(schema: Schema, batch: RecordBatch): OneBatchFile | undefined {
  if (batch.numRows >= SMALL.rows) return undefined;
  const file = new OneBatchFile(schema, batch);
  return file.bodyBytes <= SMALL.bytes ? file : undefined;
}

/** All rows are found: sends the file in one piece. */
function wholeAnswer(rows: RowsAnswer, file: OneBatchFile, count: number): Answer {
  const whole = file.bytes();
  giveBack(rows, file.pieces);
  return fileAnswer(rows.version, new WholeBody(whole, count));
}

/** A body that is complete. */
class WholeBody implements ByteStream {
  readonly length: number;
  readonly whole: Uint8Array;
  readonly rows: number;

  constructor(whole: Uint8Array, rows: number) {
    this.length = whole.byteLength;
    this.whole = whole;
    this.rows = rows;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    yield this.whole;
  }
}

/** @param found The batches that were found already. */
function streamedAnswer(
  rows: RowsAnswer,
  found: readonly [RecordBatch, ...RecordBatch[]],
  batches: AsyncGenerator<RecordBatch>,
): Answer {
  const signal = typeof rows.signal === 'function' ? rows.signal() : rows.signal;
  const length = lengthOf(rows, found[0]);
  const source = new FileSource({ ...rows, signal, length }, found, batches);
  const { memory, isCached, reserve = NOTHING } = rows;
  const use = { memory, isCached, ...reserve, signal: () => signal };
  const body = new RepeatableBody(source, use, length);
  closeOnAbort(body, signal);
  return fileAnswer(rows.version, body);
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

/** Returns the memory of a sent batch, which is used nowhere else. */
function giveBack(rows: RowsAnswer, pieces: readonly Uint8Array[]): void {
  for (const memory of new Set(pieces.map(({ buffer }) => buffer))) rows.giveBack?.(memory);
}

/** Closes a body that is never read. */
function closeOnAbort(body: RepeatableBody, signal: AbortSignal): void {
  const close = () => body.abort(signal.reason);
  if (signal.aborted) close();
  else signal.addEventListener('abort', close, { once: true });
}

interface Streamed extends RowsAnswer {
  readonly signal: AbortSignal;
  readonly length: number | undefined;
}

/** A batch that is being sent. */
interface BegunBatch {
  /** Position of its first byte in the file. */
  readonly start: number;
  /** The message before its body. */
  readonly metadata: Uint8Array | undefined;
  readonly rows: number;
  /** Bytes of it that were not sent before the last interruption. */
  left: number;
  /** CRC-32 of its bytes that were sent before. */
  sentSum: number;
}

/** The bytes of an Arrow file, from any position that was reached. */
class FileSource implements PortionSource {
  readonly #rows: Streamed;
  readonly #writer: FileWriter;
  readonly #start: Uint8Array;
  /** Batches that were found before the answer began. */
  #found: readonly RecordBatch[];
  #rest: AsyncGenerator<RecordBatch> | undefined;
  #sent: SentRows = { batches: 0, rows: 0 };
  #begun: BegunBatch | undefined;
  /** The last bytes, once they are reached. */
  #end: Uint8Array | undefined;

  constructor(rows: Streamed, found: readonly RecordBatch[], rest: AsyncGenerator<RecordBatch>) {
    this.#rows = rows;
    this.#writer = new FileWriter(rows.schema);
    this.#start = this.#writer.begin();
    this.#found = found;
    this.#rest = rest;
  }

  get isRepeatable(): boolean {
    return this.#rows.after !== undefined;
  }

  /** The rows that follow are read from their batch on. */
  get isSeekable(): boolean {
    return this.isRepeatable;
  }

  interrupted(sent: Portion): void {
    const begun = this.#begun;
    if (begun === undefined) return;
    begun.left -= bytesIn(sent);
    if (begun.left === 0) this.#finish(begun.rows);
    else begun.sentSum = sumOf(sent, begun.sentSum);
  }

  done(portion: Portion): void {
    giveBack(this.#rows, portion);
  }

  async *from(position: number): AsyncGenerator<Portion> {
    if (this.#end !== undefined) {
      const rest = behind([this.#end], position - this.#writer.bytes + this.#end.byteLength);
      // Without bytes nothing would tell that the answer has ended.
      if (rest.length > 0) yield rest;
      return;
    }
    // Taken before the first pause: this generator may end while the next one reads already.
    const batches = this.#batches();
    const found = this.#found;
    this.#found = [];
    try {
      if (position < this.#start.byteLength) yield behind([this.#start], position);
      if (this.#begun !== undefined) yield* this.#restOf(this.#begun, batches, position);
      for (const batch of found) yield* this.#portion(batch);
      for await (const batch of batches) yield* this.#portion(batch);
      yield [this.#last()];
    } finally {
      await batches.return(undefined);
    }
  }

  /** Ends the reading of rows that has not begun to be sent. */
  async close(): Promise<void> {
    this.#found = [];
    const rest = this.#rest;
    this.#rest = undefined;
    await rest?.return(undefined);
  }

  /** The batches that were not sent. */
  #batches(): AsyncGenerator<RecordBatch> {
    const rest = this.#rest;
    this.#rest = undefined;
    if (rest !== undefined) return rest;
    const { after } = this.#rows;
    if (after === undefined) throw new Error('the rows of this answer cannot be read again');
    return after(this.#sent);
  }

  *#portion(batch: RecordBatch): Generator<Portion> {
    const start = this.#writer.bytes;
    const pieces = this.#writer.batch(batch);
    const { length, misjudged } = this.#rows;
    if (this.#writer.bytes > (length ?? Infinity)) misjudged?.();
    const { numRows: rows } = batch;
    this.#begun = { start, metadata: pieces[0], rows, left: bytesIn(pieces), sentSum: 0 };
    yield pieces;
    this.#finish(rows);
  }

  /** The rest of a batch that is read again: its layout and the bytes that were sent must be the same. */
  async *#restOf(
    { start, metadata, sentSum }: BegunBatch,
    batches: AsyncGenerator<RecordBatch>,
    position: number,
  ): AsyncGenerator<Portion> {
    const next = await batches.next();
    const pieces = next.done === true ? [] : this.#writer.repeat(next.value);
    const [again] = pieces;
    const rest = behind(pieces, position - start);
    const isEqual = again !== undefined && isSame(again, metadata);
    if (next.done === true || !isEqual || sumOf(before(pieces, position - start)) !== sentSum)
      throw new Error('a batch differs from what was sent of it');
    if (rest.length > 0) yield rest;
    this.#finish(next.value.numRows);
  }

  /** A batch of some rows was sent. */
  #finish(numRows: number): void {
    const { batches, rows } = this.#sent;
    this.#sent = { batches: batches + 1, rows: rows + numRows };
    this.#begun = undefined;
  }

  #last(): Uint8Array {
    const { signal, length, misjudged } = this.#rows;
    // An aborted sequence must not look complete.
    signal.throwIfAborted();
    const end = this.#writer.end();
    if (this.#writer.bytes !== (length ?? this.#writer.bytes)) misjudged?.();
    this.#end = end;
    return end;
  }
}

function bytesIn(portion: Portion): number {
  return portion.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** CRC-32 of bytes. */
function sumOf(portion: Portion, start = 0): number {
  return portion.reduce((sum, piece) => crc32(piece, sum), start);
}

function isSame(left: Uint8Array, right: Uint8Array | undefined): boolean {
  return right !== undefined && Buffer.compare(left, right) === 0;
}

/** The Node client takes the schema from batches. */
/** A batch without rows. */
export function noRows(schema: Schema): RecordBatch {
  const columns = schema.fields.map(({ type }) => nullsOf(type, 0));
  return batchOfData(schema, columns, 0);
}
