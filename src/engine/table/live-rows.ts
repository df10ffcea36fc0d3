import type { RowRange } from '../../arrow/row-range.ts';
import { placeIn } from '../index/row-set.ts';
import { countedFrom, type RowIds } from './row-ids.ts';

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
