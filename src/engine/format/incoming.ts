import type { RecordBatch, Schema } from 'apache-arrow';
import { ArrowError } from '../../arrow/errors.ts';
import type { PackedBatch } from '../../arrow/ipc/body.ts';
import { openStream } from '../../arrow/ipc/stream-reader.ts';
import { checkSupported, conform } from '../../arrow/types.ts';
import type { CatalogRequest } from '../../protocol/backend.ts';
import { CatalogError, type ErrorName } from '../../protocol/errors.ts';
import { BodyMeter, type RequestMemory } from './memory/request-memory.ts';
import { batchOfData } from '../../arrow/data.ts';
import { nullsOf } from '../../arrow/nullability.ts';
import { encodeSchema } from '../../arrow/ipc/schema-encoding.ts';

/** The rows that a client sends: their schema, known before the first batch is read. Batches throw ArrowError. */
export interface Incoming {
  readonly schema: Schema;
  readonly batches: AsyncIterable<RecordBatch>;
}

/** Columns that queries add to a table's own; a table cannot have them. */
const RESERVED: ReadonlySet<string> = new Set(['_rowid', '_rowoffset', '_distance', '_score']);

const LONE_SURROGATE = /\p{Surrogate}/u;

/** A stream that breaks the format is bad input; a schema that cannot be held is a matter of types. */
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
    const stream = await openStream(bytes, { meter, decode });
    checkSupported(stream.schema);
    checkNames(stream.schema);
    return { schema: stream.schema, batches: stream.batches() };
  } catch (error) {
    throw asRefusal(error);
  }
}

/** What a body may take. */
export interface IncomingLimits {
  /** The longest Arrow body, in bytes; null for any length. */
  readonly maxArrowBytes: number | null;
  /** What all requests may hold together. */
  readonly memory: RequestMemory;
  /** Decompresses large batches on another thread, until the signal; on this one when absent. */
  readonly unpack?:
    | ((batch: PackedBatch, signal: AbortSignal) => Promise<readonly Uint8Array[]>)
    | undefined;
}

/** What the client is told of an error of the Arrow layer; other errors are passed on. */
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

/**
 * Refuses columns that a table cannot be made with.
 * @throws CatalogError TableSchemaValidationError.
 */
export function checkColumns(schema: Schema): void {
  for (const { name } of schema.fields) refuseDotted(name);
}

/** Names with dots lead to fields inside of columns; LanceDB refuses them for columns too. */
function refuseDotted(name: string): void {
  if (!name.includes('.')) return;
  throw new CatalogError(
    'TableSchemaValidationError',
    `the column name ${JSON.stringify(name)} has a dot: that is how a field inside of a column is named`,
  );
}

/**
 * Refuses a name that a column of a request's body may not have.
 * @throws CatalogError TableSchemaValidationError.
 */
export function checkColumnName(name: string): void {
  checkFieldName(name);
  refuseDotted(name);
}

/**
 * Refuses a name that neither a column nor a field inside of one may get.
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

/** Whether two schemas agree in everything: names, types, nullability and metadata. */
export function sameSchema(left: Schema, right: Schema): boolean {
  return left === right || Buffer.from(encodeSchema(left)).equals(encodeSchema(right));
}

/**
 * Refuses a stream whose rows could not stand in a table, before any of them is read.
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
 * Works on items one after the other. No item is held while the next one is
 * awaited, as `for await` would: a client's batch may be as large as all memory
 * that is meant for two.
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
