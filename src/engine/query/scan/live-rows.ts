import type { RowRange } from '../../../arrow/ipc/row-range.ts';
import { placeIn } from '../../index/keys/row-set.ts';

/** The physical rows of a batch that are not among the deleted ones of its file; null when none is. */
export function liveRows(deleted: Uint32Array, start: number, rows: number): Uint32Array | null {
  let next = placeIn(deleted, start);
  const gone = placeIn(deleted, start + rows) - next;
  if (gone === 0) return null;
  const live = new Uint32Array(rows - gone);
  let count = 0;
  for (let row = 0; row < rows; row++) {
    if (deleted[next] === start + row) next++;
    else live[count++] = row;
  }
  return live;
}

/** From the first to the last of some rows of a batch, deleted ones between them included. */
export function physicalRange(rows: RowRange, live: Uint32Array | null): RowRange {
  if (live === null || rows.count === 0) return rows;
  const start = live[rows.start]!;
  return { start, count: live[rows.start + rows.count - 1]! + 1 - start };
}

/** Where some rows that are there stand among those that were read from a physical row on. */
export function rowsWithin(
  live: Uint32Array,
  { start, count }: RowRange,
  first: number,
): Uint32Array {
  return live.subarray(start, start + count).map((row) => row - first);
}

/** The ids of rows of a batch, which are stored or follow each other. */
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

/** The row ids of a batch: they follow the first, or each stands for itself. */
export type RowIds =
  | { readonly kind: 'range'; readonly first: bigint }
  | { readonly kind: 'list'; readonly ids: BigUint64Array };

/**
 * A first number and some rows counted from it. Two words each (little-endian,
 * as all of Arrow here): a bigint for each row is ten times slower.
 * @param rowAt The row that stands at a place of the result.
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
