import { may, possibleStates } from '../../../sql/possible.ts';
import {
  compareRangeValues,
  type RangeValue,
  type ValueRange,
} from '../../../sql/compare/value-range.ts';
import { FragmentRanges } from '../../index/keys/fragment-ranges.ts';
import type { FileZone } from '../../format/file-statistics.ts';
import type { QueryPlan } from '../plan/plan.ts';
import type { SortKey, SortPlan } from '../plan/sort-plan.ts';
import type { ScanFile } from '../scan/scan.ts';

/** A row that other rows have to be better than. */
export interface WorstRow {
  /** Range of the value of its first key. */
  readonly range: ValueRange;
  /** Its position in the table. */
  readonly position: number;
}

/** A place in the order of a key. Classes come before values. */
interface Rank {
  readonly group: (typeof group)[keyof typeof group];
  /** Null for an unknown value, which is better than any other. */
  readonly value: RangeValue | null;
}

const group = { nullFirst: 0, nanFirst: 1, value: 2, nanLast: 3, nullLast: 4, unknown: 5 } as const;

/** A part of a file with the best rank that its rows may have. */
interface RankedFile {
  readonly file: ScanFile;
  readonly best: Rank;
  /** No row of the part has a smaller position in the table. */
  readonly firstPosition: number;
}

/**
 * Files of a plan, and parts of large ones, from the best possible first key on. A part whose rows
 * are all worse than the worst kept row is left out when it is due. If the filter may fail on a
 * row, files come as they lie and none is left out: an error must not depend on the order.
 */
export function* filesByBest(
  plan: QueryPlan,
  sort: SortPlan,
  worst: () => WorstRow | null,
): Generator<ScanFile> {
  const [first] = sort.keys;
  if (first === undefined || first.path.formula !== null || mayFail(plan)) {
    yield* plan.files;
    return;
  }
  const ranked = plan.files.flatMap((file) => rankedParts(plan, file, first));
  ranked.sort((one, other) => compareRanks(one.best, other.best, first));
  const single = sort.keys.length === 1;
  for (const part of ranked) {
    const least = worst();
    if (least === null || mayBeBetter(part, least, first, single)) yield part.file;
  }
}

function mayFail({ snapshot, files, filter }: QueryPlan): boolean {
  if (filter === null) return false;
  const states = possibleStates(filter.bound);
  return files.some((file) => {
    const ranges = new FragmentRanges(snapshot, file).rangeOf();
    return file.certain !== true && (states(ranges) & may.fail) !== 0;
  });
}

function rankedParts({ snapshot }: QueryPlan, file: ScanFile, key: SortKey): readonly RankedFile[] {
  const { column } = key.path;
  const ranges = new FragmentRanges(snapshot, file);
  const zones = ranges.zonesOf([column]).filter((zone) => overlaps(zone, file));
  const ranked = (part: ScanFile, zone?: FileZone): RankedFile => ({
    file: part,
    best: bestOf(ranges.rangeOf(zone)(column), key),
    firstPosition: firstPosition(file, zone),
  });
  if (zones.length < 2) return [ranked(file, zones[0])];
  return zones.map((zone) => ranked(partOf(file, zone), zone));
}

function overlaps({ firstBatch, batches: count }: FileZone, { batches }: ScanFile): boolean {
  if (batches === undefined) return true;
  return firstBatch < batches.first + batches.count && batches.first < firstBatch + count;
}

/** Batches of a file that are in a zone. */
function partOf(file: ScanFile, { firstBatch, batches: count, rows }: FileZone): ScanFile {
  const first = Math.max(firstBatch, file.batches?.first ?? 0);
  const end = Math.min(
    firstBatch + count,
    file.batches === undefined ? Infinity : file.batches.first + file.batches.count,
  );
  return { ...file, batches: { first, count: end - first }, rows };
}

/** Rows before a zone may be deleted. */
function firstPosition({ fragment, offset }: ScanFile, zone: FileZone | undefined): number {
  const deleted = fragment.physicalRows - fragment.rows;
  return offset + Math.max(0, (zone?.firstRow ?? 0) - deleted);
}

function mayBeBetter(
  { best, firstPosition: first }: RankedFile,
  { range, position }: WorstRow,
  key: SortKey,
  single: boolean,
): boolean {
  const difference = compareRanks(best, worstOf(range, key), key);
  // Among rows with equal keys, later ones are worse.
  return difference < 0 || (difference === 0 && !(single && first > position));
}

/** The best rank that values of a range may have. */
function bestOf({ null: hasNull, nan, values }: ValueRange, key: SortKey): Rank {
  if (hasNull && key.nullsFirst) return { group: group.nullFirst, value: null };
  if (nan && !key.ascending) return { group: group.nanFirst, value: null };
  if (values === 'any') return { group: group.value, value: null };
  if (values !== 'none') {
    return { group: group.value, value: key.ascending ? values.least : values.greatest };
  }
  return { group: nan ? group.nanLast : group.nullLast, value: null };
}

/** The worst rank that the only value of a range may have. */
function worstOf({ null: isNull, nan, values }: ValueRange, key: SortKey): Rank {
  if (values === 'any') return { group: group.unknown, value: null };
  if (isNull) return { group: key.nullsFirst ? group.nullFirst : group.nullLast, value: null };
  if (nan) return { group: key.ascending ? group.nanLast : group.nanFirst, value: null };
  const end = values === 'none' ? null : key.ascending ? values.greatest : values.least;
  return { group: end === null ? group.unknown : group.value, value: end };
}

function compareRanks(left: Rank, right: Rank, { ascending }: SortKey): number {
  if (left.group !== right.group) return left.group - right.group;
  if (left.value === null || right.value === null) {
    return Number(right.value === null) - Number(left.value === null);
  }
  return (ascending ? 1 : -1) * compareRangeValues(left.value, right.value);
}
