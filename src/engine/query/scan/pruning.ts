import { may, possibleStates, type RangeOf } from '../../../sql/possible.ts';
import { statisticsOf, type FileZone } from '../../format/file-statistics.ts';
import type { FragmentLookup } from '../../index/keys/lookup.ts';
import { lookupOf, searchOf, type IndexSearch } from '../../index/vectors/predicate-search.ts';
import type { Fragment, Snapshot } from '../../format/snapshot.ts';
import type { Formula } from '../../base/statement.ts';
import { FragmentRanges } from '../../index/keys/fragment-ranges.ts';
import type { ScanFile } from './scan.ts';
import { pairs } from '../../base/items.ts';

/**
 * Result of a test for some rows from statistics: no row passes, all pass, or each must be
 * evaluated.
 */
type Verdict = 'none' | 'all' | 'each';

/**
 * Files, and batches of large ones, that may hold rows for which a predicate is true, from
 * statistics. A file is split where a part is left out. Rows on which evaluation would fail are
 * never left out, so answers do not depend on the distribution of rows over files.
 */
export function prunedFiles(
  snapshot: Snapshot,
  files: readonly ScanFile[],
  predicate: Formula,
): readonly ScanFile[] {
  const states = possibleStates(predicate.bound);
  const left = filesWhere(snapshot, files, predicate.columns, (ranges) =>
    verdictOf(states(ranges)),
  );
  const search = searchOf(predicate.bound, snapshot);
  return search === undefined ? left : withLookups(left, search);
}

/** Adds index lookups to files; pieces of one fragment share a lookup. */
export function withLookups(files: readonly ScanFile[], search: IndexSearch): readonly ScanFile[] {
  let last:
    | { readonly fragment: Fragment; readonly lookup: FragmentLookup | undefined }
    | undefined;
  return files.map((file) => {
    const { fragment, certain } = file;
    if (certain === true) return file;
    if (last?.fragment !== fragment) last = { fragment, lookup: lookupOf(search, fragment) };
    const { lookup } = last;
    return lookup === undefined ? file : { ...file, lookup };
  });
}

/** Files, and batches of large ones, whose ranges of some columns pass a test. */
export function filesWhere(
  snapshot: Snapshot,
  files: readonly ScanFile[],
  columns: readonly string[],
  test: (ranges: RangeOf) => Verdict,
): readonly ScanFile[] {
  return files.flatMap((file) => {
    const ranges = new FragmentRanges(snapshot, file);
    const whole = test(ranges.rangeOf());
    if (whole !== 'each') return whole === 'none' ? [] : [{ ...file, certain: true }];
    const zones = ranges.zonesOf(columns);
    return pieces(
      file,
      zones,
      zones.map((zone) => test(ranges.rangeOf(zone))),
    );
  });
}

function verdictOf(possible: number): Verdict {
  if ((possible & (may.beTrue | may.fail)) === 0) return 'none';
  return possible === may.beTrue ? 'all' : 'each';
}

function pieces(
  file: ScanFile,
  zones: readonly FileZone[],
  verdicts: readonly Verdict[],
): readonly ScanFile[] {
  if (verdicts.every((verdict) => verdict === 'each')) return [file];
  const runs: { verdict: Verdict; first: number; count: number; rows: number }[] = [];
  for (const [{ firstBatch, batches, rows }, verdict] of pairs(zones, verdicts)) {
    const last = runs.at(-1);
    if (last?.verdict === verdict) {
      last.count += batches;
      last.rows += rows;
    } else runs.push({ verdict, first: firstBatch, count: batches, rows });
  }
  return runs
    .filter(({ verdict }) => verdict !== 'none')
    .map(({ verdict, first, count, rows }) => {
      return { ...file, batches: { first, count }, rows, certain: verdict === 'all' };
    });
}

/** Number of rows of a file's scan; null if deleted rows must be read first. */
export function rowsOfFile({ fragment, batches, rows }: ScanFile): number | null {
  if (batches === undefined) return fragment.rows;
  return fragment.deletions === null ? (rows ?? null) : null;
}

interface ScanExtent {
  readonly files: Share;
  /** Null if the number of batches is unknown. */
  readonly batches: Share | null;
  /** Upper bound of rows. */
  readonly rows: number;
  /** Number of rows known to pass the filter. */
  readonly certain: number;
}

/** A part of a total. */
export interface Share {
  readonly read: number;
  readonly all: number;
}

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
  const counted = counts.filter((count) => count !== undefined);
  if (counted.length < counts.length) return null;
  const read = files.map(({ fragment, batches }) => batches?.count ?? batchCount(fragment) ?? 0);
  return { read: sum(read), all: sum(counted) };
}

/** Number of batches of a fragment; undefined if unknown. */
export function batchCount({ files: [first], physicalRows }: Fragment): number | undefined {
  return first && statisticsOf(first, physicalRows)?.batches;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
