import type { Data, RecordBatch, Schema } from 'apache-arrow';
import { ArrowError } from '../../arrow/arrow-error.ts';
import type { PackedBatch } from '../../arrow/ipc/body.ts';
import { openStream } from '../../arrow/ipc/stream-reader.ts';
import { checkSupported, conform } from '../../arrow/types.ts';
import type { CatalogRequest } from '../../protocol/backend.ts';
import { CatalogError, type ErrorName } from '../../protocol/errors.ts';
import type { ReadMemory } from './memory/read-memory.ts';
import { BodyMeter, type RequestMemory } from './memory/request-memory.ts';
import { batchOfData } from '../../arrow/data.ts';
import { nullsOf } from '../../arrow/nullability.ts';
import { encodeSchema } from '../../arrow/ipc/schema-encoding.ts';

/**
 * Rows sent by a client. The schema is known before the first batch is read. Batches throw
 * ArrowError.
 */
export interface Incoming {
  readonly schema: Schema;
  readonly batches: IncomingBatches;
}

/** Batches whose memory may be used again. */
export interface IncomingBatches extends AsyncIterable<RecordBatch> {
  /** To be called with a batch once nothing looks at its rows any more. It need not be called. */
  stored?(batch: RecordBatch): void;
}

/** Columns that queries add to a table's columns; reserved in tables. */
const RESERVED: ReadonlySet<string> = new Set(['_rowid', '_rowoffset', '_distance', '_score']);

const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Error of each kind of fault: a malformed stream is bad input, an unsupported schema is a type
 * error.
 */
const errorNames: Readonly<Record<ArrowError['kind'], ErrorName>> = {
  corrupt: 'InvalidInput',
  limit: 'InvalidInput',
  unsupported: 'TableSchemaValidationError',
  mismatch: 'TableSchemaValidationError',
};

/**
 * Opens the Arrow stream of a request's body.
 * @throws CatalogError InvalidInput or TableSchemaValidationError; OverBudget.
 */
export async function openIncoming(
  { body, budget, signal }: Pick<CatalogRequest, 'body' | 'budget' | 'signal'>,
  { maxArrowBytes, memory, unpack }: IncomingLimits,
): Promise<Incoming> {
  const meter = new BodyMeter(memory, budget);
  try {
    const bytes = maxArrowBytes === null ? body : bounded(body, maxArrowBytes);
    const decode = unpack && ((batch: PackedBatch) => unpack(batch, signal()));
    const take = (length: number) => memory.bodies.take(length);
    const stream = await openStream(bytes, { meter, decode, take });
    checkSupported(stream.schema);
    checkNames(stream.schema);
    const batches = {
      [Symbol.asyncIterator]: () => stream.batches(),
      stored: (batch: RecordBatch) => giveBack(batch.data, memory.bodies),
    };
    return { schema: stream.schema, batches };
  } catch (error) {
    throw asRefusal(error);
  }
}

/** Returns the memory in which rows lie. Values of dictionaries came before them, in memory of their own. */
function giveBack({ buffers, children }: Data, memory: ReadMemory): void {
  for (const buffer of Object.values(buffers) as readonly (Uint8Array | undefined)[]) {
    if (buffer !== undefined) memory.giveBack(buffer.buffer);
  }
  for (const child of children) giveBack(child, memory);
}

/** Limits of a body. */
export interface IncomingLimits {
  /** The longest Arrow body, in bytes; null for any length. */
  readonly maxArrowBytes: number | null;
  /** Memory shared by all requests. */
  readonly memory: RequestMemory;
  /** Decompresses large batches on another thread, until the signal; on this one when absent. */
  readonly unpack?:
    | ((batch: PackedBatch, signal: AbortSignal) => Promise<readonly Uint8Array[]>)
    | undefined;
}

/** The client's error for an error of the Arrow layer; other errors are returned unchanged. */
export function asRefusal(error: unknown): unknown {
  if (!(error instanceof ArrowError)) return error;
  return new CatalogError(errorNames[error.kind], error.message);
}

async function* bounded(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) {
      throw new CatalogError('InvalidInput', `the body is longer than ${maxBytes} bytes`);
    }
    yield chunk;
  }
}

function checkNames(schema: Schema): void {
  for (const field of schema.fields) refuseReserved(field.name);
}

function refuseReserved(name: string): void {
  if (!RESERVED.has(name)) return;
  throw new CatalogError(
    'TableSchemaValidationError',
    `the column name ${name} is reserved for queries`,
  );
}

/** Refuses columns that a table cannot have. @throws CatalogError TableSchemaValidationError. */
export function checkColumns(schema: Schema): void {
  for (const { name } of schema.fields) refuseDotted(name);
}

/** Dots separate the fields of a path; LanceDB refuses them in column names too. */
function refuseDotted(name: string): void {
  if (!name.includes('.')) return;
  throw new CatalogError(
    'TableSchemaValidationError',
    `the column name ${JSON.stringify(name)} has a dot: that is how a field inside of a column is named`,
  );
}

/**
 * Refuses a name that is not allowed for a column of a request.
 * @throws CatalogError TableSchemaValidationError.
 */
export function checkColumnName(name: string): void {
  checkFieldName(name);
  refuseDotted(name);
}

/**
 * Refuses a name that is not allowed for a column or a field.
 * @throws CatalogError TableSchemaValidationError.
 */
export function checkFieldName(name: string): void {
  refuseReserved(name);
  if (name === '') {
    throw new CatalogError('TableSchemaValidationError', 'the name of a column cannot be empty');
  }
  if (LONE_SURROGATE.test(name)) {
    throw new CatalogError(
      'TableSchemaValidationError',
      'the name of a column is not valid Unicode',
    );
  }
}

/** Whether two schemas are equal in names, types, nullability and metadata. */
export function sameSchema(left: Schema, right: Schema): boolean {
  return left === right || Buffer.from(encodeSchema(left)).equals(encodeSchema(right));
}

/**
 * Refuses a stream whose schema does not fit the table, before rows are read.
 * @throws CatalogError TableSchemaValidationError that names the column.
 */
export function checkConforms(incoming: Schema, table: Schema): void {
  const columns = incoming.fields.map((field) => nullsOf(field.type, 0));
  try {
    conform(batchOfData(incoming, columns, 0), table);
  } catch (error) {
    throw asRefusal(error);
  }
}

/**
 * Processes items one by one. Unlike `for await`, no item is held while the next is awaited: a
 * client's batch may need as much memory as two are allowed.
 */
export async function eachOf<Item>(
  items: AsyncIterable<Item>,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.asyncIterator]();
  try {
    while (await workOnNext(iterator, work));
  } finally {
    await iterator.return?.();
  }
}

async function workOnNext<Item>(
  iterator: AsyncIterator<Item>,
  work: (item: Item) => Promise<void>,
): Promise<boolean> {
  const { value, done } = await iterator.next();
  if (done !== true) await work(value);
  return done !== true;
}
