import type { RecordBatch } from 'apache-arrow';
import { LRUCache } from 'lru-cache';
import { setBit } from '../../../arrow/bitmap.ts';
import { namesClock } from '../../../sql/normal-text.ts';
import { Pace } from '../../base/pace.ts';
import type { Snapshot } from '../../format/snapshot.ts';
import { needOf } from '../../request/computed-columns.ts';
import { rowsInThread } from '../../request/formula.ts';
import { AHEAD, readAhead } from '../scan/meters.ts';
import { prunedFiles } from '../scan/pruning.ts';
import { Scanner, type PlacedBatch, type ScanFile } from '../scan/scan.ts';
import type { BatchSource } from '../scan/batch-source.ts';
import { closing, type BoundRestrictions } from './bound-restrictions.ts';

/** Rows of a stored batch that the caller may see. */
export interface JudgedBatch {
  /** Position of the batch in its file. */
  readonly index: number;
  /** How many of its rows are visible; at least one. */
  readonly count: number;
  /** A bit for each of its rows; null if all are visible. */
  readonly bits: Uint8Array | null;
}

/** Rows of a stored fragment that the caller may see. */
export interface JudgedPart {
  /** Position of the fragment in its version. */
  readonly fragment: number;
  readonly batches: JudgedBatch[];
}

/** Memory of results that are kept. */
const KEPT_BYTES = 2 ** 24;
/** Memory of a result beside its bits: objects of a batch. */
const BATCH_BYTES = 100;

/**
 * Which rows of versions pass the row filters of callers, of those that were asked for most recently. A version never
 * changes, so a filter gives the same rows for all callers that it is the same for. One that reads the clock is judged
 * for each request.
 */
export class RowVerdicts {
  /** Versions are known by their objects, of which there is one as long as it is used. */
  readonly #numbers = new WeakMap<Snapshot, number>();
  readonly #kept = new LRUCache<string, readonly JudgedPart[]>({
    maxSize: KEPT_BYTES,
    sizeCalculation: bytesOf,
  });
  #versions = 0;

  /** The visible rows, judged by `judge` unless they are known. */
  async of(
    snapshot: Snapshot,
    { filter }: Pick<BoundRestrictions, 'filter'>,
    judge: () => Promise<readonly JudgedPart[]>,
  ): Promise<readonly JudgedPart[]> {
    if (filter === null || namesClock(filter.text)) return judge();
    const key = `${this.#numberOf(snapshot)} ${filter.text}`;
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const judged = await judge();
    this.#kept.set(key, judged);
    return judged;
  }

  #numberOf(snapshot: Snapshot): number {
    const known = this.#numbers.get(snapshot);
    if (known !== undefined) return known;
    const number = ++this.#versions;
    this.#numbers.set(snapshot, number);
    return number;
  }
}

function bytesOf(parts: readonly JudgedPart[], key: string): number {
  const batches = parts.flatMap((part) => part.batches);
  const bits = batches.reduce((sum, each) => sum + (each.bits?.byteLength ?? 0), 0);
  return 2 * key.length + bits + BATCH_BYTES * (1 + parts.length + batches.length);
}

/**
 * Judges the rows of a version, with the columns of the row filters alone. The memory is a bit for each row.
 * @throws CatalogError PermissionDenied for a row filter that fails on a row
 */
export async function judgedParts(
  snapshot: Snapshot,
  reader: BatchSource,
  bound: BoundRestrictions,
): Promise<readonly JudgedPart[]> {
  const { filter, statement } = bound;
  const scanner = new Scanner(reader, snapshot);
  const need = needOf(snapshot.schema, filter?.columns ?? []);
  const pace = new Pace(statement.budget);
  const positions = new Map(snapshot.fragments.map((fragment, at) => [fragment, at]));
  const parts = new Map<number, JudgedPart>();
  for await (const found of readAhead(scanner.scan(filesOf(snapshot, bound), need, AHEAD))) {
    statement.signal().throwIfAborted();
    const batch = await judgedBatch(found, bound);
    found.release?.();
    await pace.turn();
    if (batch === null) continue;
    const fragment = positions.get(found.place.fragment)!;
    const part = parts.get(fragment) ?? { fragment, batches: [] };
    parts.set(fragment, part);
    part.batches.push(batch);
  }
  return [...parts.values()];
}

/** Files that may hold visible rows. Statistics of a file narrow it; its indices are not asked. */
function filesOf(snapshot: Snapshot, { filter }: BoundRestrictions): readonly ScanFile[] {
  const all = snapshot.fragments.map((fragment) => ({ fragment, offset: 0 }));
  if (filter === null) return all;
  return prunedFiles(snapshot, all, filter).map((file) => ({ ...file, lookup: undefined }));
}

async function judgedBatch(
  { batch, place, certain }: PlacedBatch,
  bound: BoundRestrictions,
): Promise<JudgedBatch | null> {
  const { index } = place;
  const { numRows } = batch;
  if (numRows === 0) return null;
  const rows = certain === true ? null : await seenRows(batch, bound);
  if (rows === null || rows.length === numRows) return { index, count: numRows, bits: null };
  if (rows.length === 0) return null;
  bound.statement.budget.charge(numRows / 8);
  const bits = new Uint8Array(Math.ceil(numRows / 8));
  for (const row of rows) setBit(bits, row);
  return { index, count: rows.length, bits };
}

/**
 * Positions of the rows of a batch that the caller may see, ascending; null for all.
 * @param batch With the columns of the row filters.
 * @throws CatalogError PermissionDenied for a row filter that fails on a row
 */
export async function seenRows(
  batch: RecordBatch,
  { filter, restrictions, object, statement: { budget } }: BoundRestrictions,
): Promise<Uint32Array | null> {
  if (filter === null) return null;
  try {
    return await budget.run(() => rowsInThread(filter, batch));
  } catch (error) {
    throw closing(error, restrictions.rows[0]?.restriction ?? '', object);
  }
}

/** Positions of the visible rows of a batch of which some are hidden, ascending. */
export function setRows(bits: Uint8Array, count: number): Uint32Array {
  const rows = new Uint32Array(count);
  let at = 0;
  for (let byte = 0; byte < bits.length; byte++) {
    for (const bit of bitsOf[bits[byte]!]!) rows[at++] = 8 * byte + bit;
  }
  return rows;
}

/**
 * Positions of some visible rows.
 * @param rows Positions among the visible rows, ascending.
 */
export function storedPlaces(bits: Uint8Array, rows: Uint32Array): Uint32Array {
  const places = new Uint32Array(rows.length);
  let before = 0;
  let at = 0;
  for (let byte = 0; at < rows.length; byte++) {
    const set = bitsOf[bits[byte]!]!;
    for (; at < rows.length && rows[at]! < before + set.length; at++) {
      places[at] = 8 * byte + set[rows[at]! - before]!;
    }
    before += set.length;
  }
  return places;
}

/** Positions of the set bits of each byte. */
const bitsOf: readonly (readonly number[])[] = Array.from({ length: 256 }, (_, byte) =>
  Array.from({ length: 8 }, (_, bit) => bit).filter((bit) => ((byte >> bit) & 1) === 1),
);
