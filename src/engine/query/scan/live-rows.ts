import type { RowRange } from '../../../arrow/ipc/row-range.ts';
import { placeIn } from '../../index/keys/row-set.ts';

/** Live physical rows of a batch; null if none is deleted. */
export function liveRows(deleted: Uint32Array, start: number, rows: number): Uint32Array | null {
  let next = placeIn(deleted, start);
  const deletedCount = placeIn(deleted, start + rows) - next;
  if (deletedCount === 0) return null;
  const live = new Uint32Array(rows - deletedCount);
  let count = 0;
  for (let row = 0; row < rows; row++) {
    if (deleted[next] === start + row) next++;
    else live[count++] = row;
  }
  return live;
}

/** Physical range of some rows, including deleted rows between them. */
export function physicalRange(rows: RowRange, live: Uint32Array | null): RowRange {
  if (live === null || rows.count === 0) return rows;
  const start = live[rows.start]!;
  return { start, count: live[rows.start + rows.count - 1]! + 1 - start };
}

/** Positions of live rows among rows that were read from a physical row on. */
export function rowsWithin(
  live: Uint32Array,
  { start, count }: RowRange,
  first: number,
): Uint32Array {
  return live.subarray(start, start + count).map((row) => row - first);
}

/** Row ids of a batch: stored or consecutive. */
export function idsOfBatch(
  first: bigint,
  stored: BigUint64Array | null,
  live: Uint32Array | null,
): RowIds {
  if (stored === null && live === null) return { kind: 'range', first };
  if (stored === null) {
    return { kind: 'list', ids: countedFrom(first, live!.length, (place) => live![place]!) };
  }
  const ids = live === null ? stored : BigUint64Array.from(live, (row) => stored[row]!);
  return { kind: 'list', ids };
}

/** Row ids of a batch: consecutive, or a list. */
export type RowIds =
  | { readonly kind: 'range'; readonly first: bigint }
  | { readonly kind: 'list'; readonly ids: BigUint64Array };

/**
 * Consecutive ids from a first one, as two little-endian words each: bigints are ten times slower.
 * @param rowAt The row at a position of the result.
 */
export function countedFrom(
  first: bigint,
  count: number,
  rowAt: (place: number) => number,
): BigUint64Array {
  const ids = new BigUint64Array(count);
  const words = new Uint32Array(ids.buffer);
  const low = Number(BigInt.asUintN(32, first));
  const high = Number(first >> 32n);
  for (let place = 0; place < count; place++) {
    const sum = low + rowAt(place);
    words[2 * place] = sum;
    words[2 * place + 1] = high + Math.floor(sum / 2 ** 32);
  }
  return ids;
}

/** The ids of some rows of a batch. */
export function idsOf(
  rowIds: RowIds,
  count: number,
  rowAt: (place: number) => number,
): BigUint64Array {
  if (rowIds.kind === 'range') return countedFrom(rowIds.first, count, rowAt);
  const ids = new BigUint64Array(count);
  for (let place = 0; place < count; place++) ids[place] = rowIds.ids[rowAt(place)]!;
  return ids;
}
