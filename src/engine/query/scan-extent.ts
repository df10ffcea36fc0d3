import { statisticsOf } from '../table/file-statistics.ts';
import type { Fragment, Snapshot } from '../table/snapshot.ts';
import { rowsOfFile } from './pruning.ts';
import type { ScanFile } from './scan.ts';

/** How much of a table a scan reads. */
export interface ScanExtent {
  readonly files: Share;
  /** Null when it is not known how many batches the files have. */
  readonly batches: Share | null;
  /** At most so many rows. */
  readonly rows: number;
  /** Rows that are known to pass the filter. */
  readonly certain: number;
}

/** Some of all. */
export interface Share {
  readonly read: number;
  readonly all: number;
}

/** How much of a table a scan of some files reads. */
export function scanExtent(snapshot: Snapshot, files: readonly ScanFile[]): ScanExtent {
  const { fragments } = snapshot;
  const read = new Set(files.map(({ fragment }) => fragment)).size;
  return {
    files: { read, all: fragments.length },
    batches: batchesOf(fragments, files),
    rows: sum(files.map(mostRows)),
    certain: sum(files.filter(({ certain }) => certain === true).map(mostRows)),
  };
}

function mostRows(file: ScanFile): number {
  return rowsOfFile(file) ?? file.rows ?? file.fragment.rows;
}

function batchesOf(fragments: readonly Fragment[], files: readonly ScanFile[]): Share | null {
  const counts = fragments.map(batchCount);
  const known = counts.filter((count) => count !== undefined);
  if (known.length < counts.length) return null;
  const read = files.map(({ fragment, batches }) => batches?.count ?? batchCount(fragment) ?? 0);
  return { read: sum(read), all: sum(known) };
}

function batchCount({ files: [first], physicalRows }: Fragment): number | undefined {
  return first && statisticsOf(first, physicalRows)?.batches;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
