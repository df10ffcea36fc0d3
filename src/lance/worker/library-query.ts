import type * as LanceDb from '@lancedb/lancedb';
import type { Selection } from '../../engine/request/columns-field.ts';
import type { NearestMessage, QueryMessage } from '../wire/messages.ts';
import { textSearchOf } from './text-search.ts';

/** Batches of an answer, each as an Arrow file. */
export interface LibraryBatches {
  next(): Promise<Uint8Array | null>;
}

const LENGTH_BYTES = 4;

/** Batches, each after its length. */
export async function* sizedFiles(
  next: () => Promise<Uint8Array | null>,
): AsyncGenerator<Uint8Array> {
  for (let file = await next(); file !== null; file = await next()) {
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32LE(file.byteLength);
    yield length;
    yield file;
  }
}

/** A query of the library below its classes for rows, which would decode each batch. */
export interface LibraryQuery {
  execute(maxBatchLength?: number, timeoutMillis?: number): Promise<LibraryBatches>;
  /** An Arrow file without batches. */
  outputSchema(): Promise<Uint8Array>;
  explainPlan(verbose: boolean): Promise<string>;
  analyzePlan(): Promise<string>;
}

/** Limit of a search without one: the library has 10 otherwise. */
const ALL_ROWS = 2 ** 31 - 1;

/**
 * A query of a table.
 * @param vectors The values of all query vectors, one after the other.
 * @throws InvalidQuery; as the library does for invalid options.
 */
export async function libraryQuery(
  library: typeof LanceDb,
  table: LanceDb.Table,
  query: QueryMessage,
  vectors: Float32Array,
): Promise<LibraryQuery> {
  const { nearest, text, filter, columns, order, limit, offset } = query;
  const plain = table.query();
  const built = nearest === null ? plain : nearestQuery(plain, nearest, vectors);
  if (nearest !== null && !query.prefilter) (built as LanceDb.VectorQuery).postfilter();
  if (text !== null) {
    built.fullTextSearch(textSearchOf(library, text.query));
    if (text.fastSearch) built.fastSearch();
  }
  if (filter !== null) built.where(filter);
  if (columns !== null) select(built, columns);
  if (query.withRowId) built.withRowId();
  if (order.length > 0) {
    built.orderBy(order.map(({ column, ...term }) => ({ columnName: column, ...term })));
  }
  const searches = nearest !== null || text !== null;
  if (limit !== null || searches) built.limit(limit ?? ALL_ROWS);
  if (offset > 0) built.offset(offset);
  return (built as unknown as { readonly inner: LibraryQuery | Promise<LibraryQuery> }).inner;
}

function nearestQuery(
  query: LanceDb.Query,
  { lengths, metric, column, index, lowerBound, upperBound }: NearestMessage,
  vectors: Float32Array,
): LanceDb.VectorQuery {
  const [first = new Float32Array(0), ...others] = split(vectors, lengths);
  const nearest = query.nearestTo([...first]);
  for (const other of others) nearest.addQueryVector([...other]);
  if (column !== null) nearest.column(column);
  // The type of the library lacks one of its metrics.
  if (metric !== null) nearest.distanceType(metric as 'l2');
  if (lowerBound !== null || upperBound !== null) {
    nearest.distanceRange(lowerBound ?? undefined, upperBound ?? undefined);
  }
  searchIndex(nearest, index);
  return nearest;
}

function searchIndex(query: LanceDb.VectorQuery, index: NearestMessage['index']): void {
  const { leastProbes: least, mostProbes: most, ef, refine, bypass, fast } = index;
  // The library compares each with the other, so both are set to the lower one first.
  const probes = least ?? most;
  if (probes !== null && probes > 0) query.nprobes(probes);
  if (most !== null) query.maximumNprobes(most);
  if (ef !== null) query.ef(ef);
  if (refine !== null) query.refineFactor(refine);
  if (bypass) query.bypassVectorIndex();
  if (fast) query.fastSearch();
}

function split(values: Float32Array, lengths: readonly number[]): readonly Float32Array[] {
  let start = 0;
  return lengths.map((length) => values.subarray(start, (start += length)));
}

function select(query: LanceDb.Query | LanceDb.VectorQuery, columns: readonly Selection[]): void {
  const texts = columns.map((each): [string, string] =>
    each.kind === 'column' ? [each.name, each.name] : [each.name, each.text],
  );
  const areNames = columns.every(({ kind }) => kind === 'column');
  query.select(areNames ? texts.map(([name]) => name) : new Map(texts));
}
