import { itemAt } from '../../base/items.ts';
import { LeastFirst } from '../../base/least-first.ts';
import { Pace } from '../../base/pace.ts';
import type { Fragment, FragmentIndex } from '../../format/snapshot.ts';
import {
  isLoaded,
  searchPartition,
  type LoadedCodes,
  type LoadedPartition,
} from '../../index/vectors/code-search.ts';
import type { VectorSource } from '../../index/vectors/code-store.ts';
import { placedQuery, type EncodedQuery } from '../../index/vectors/encoded-query.ts';
import type { IndexUse } from '../../index/vectors/index-use.ts';
import type { NearestRows } from '../../index/vectors/nearest-rows.ts';
import { partitionOrder } from '../../index/vectors/partition-order.ts';
import { placeIn } from '../../index/keys/row-set.ts';
import type { QueryPlan } from '../plan/plan.ts';
import type { Meters } from '../scan/meters.ts';
import type { ScanFile } from '../scan/scan.ts';

/** A file with its codes and the encoded queries. */
export interface CoveredFile {
  readonly scanned: ScanFile;
  readonly file: FragmentIndex;
  readonly codes: LoadedCodes;
  /** Number of rows of earlier covered files, including deleted ones. */
  readonly first: number;
  readonly queries: readonly EncodedQuery[];
  readonly may: ((row: number) => boolean) | null;
}

/** Codes that were available, and cannot be read any more. */
export class LostCodes extends Error {
  readonly fragment: Fragment;

  constructor(fragment: Fragment) {
    super('codes of vectors cannot be read');
    this.fragment = fragment;
  }
}

/** Rows that are searched before others get a turn. */
const ROWS_AT_ONCE = 2 ** 14;
/** Partitions of a file that are read at once. */
const READ_AT_ONCE = 8;

/** A search for the rows near one query vector by codes. */
export interface CodeVisits {
  readonly plan: QueryPlan;
  readonly meters: Meters;
  readonly use: IndexUse;
  readonly vectors: VectorSource;
  readonly covered: readonly CoveredFile[];
  /** Which of the query vectors. */
  readonly at: number;
  readonly nearest: NearestRows;
}

/** A partition to search. */
interface Visit {
  readonly own: CoveredFile;
  readonly partition: LoadedPartition;
  /** Least distance to expect of its rows. */
  readonly least: number;
}

/** What a search by codes went through. */
export interface Visited {
  /** Rows whose codes were compared. */
  readonly rows: number;
  /** An error that few of the offered distances exceed. */
  readonly error: number;
}

/**
 * Offers the rows of the partitions that may have near ones, the most promising first.
 * @throws LostCodes
 */
export async function searchFiles(search: CodeVisits): Promise<Visited> {
  const { meters, use, at, nearest } = search;
  const { errors, probes } = use;
  const pace = new Pace();
  let [rows, turn, error, probed] = [0, ROWS_AT_ONCE, 0, 0];
  const visits = meters.timed('index', () => visitsOf(search));
  for (let place = 0, visit; (visit = visits(place)) !== undefined; place++) {
    const { own, partition, least } = visit;
    if (partition.centre !== null) probed++;
    // As long as there are too few rows, every partition is searched.
    const { limit } = nearest;
    if (limit < Infinity && (probed > probes.most || (least > limit && probed > probes.least)))
      break;
    if (!isLoaded(own.codes, partition)) await load(search, visits, place, visit);
    const { first, may } = own;
    const one = { query: itemAt(own.queries, at), errors, may, nearest, first };
    const deviation = meters.timed('index', () => searchPartition(own.codes, partition, one));
    error = Math.max(error, deviation);
    rows += rowsOf(own.codes, partition);
    if (rows < turn) continue;
    turn = rows + ROWS_AT_ONCE;
    await pace.turn();
  }
  return { rows, error };
}

function rowsOf({ directory }: LoadedCodes, { portions }: LoadedPartition): number {
  let rows = 0;
  for (const { number } of portions) rows += itemAt(directory.portions, number).rows;
  return rows;
}

/** The partitions by their place in an order, the most promising first; undefined behind the end. */
type Visits = (place: number) => Visit | undefined;

function visitsOf({ covered, use, at }: CodeVisits): Visits {
  const count = covered.reduce((sum, { codes }) => sum + codes.partitions.length, 0);
  const [least, distances] = [new Float64Array(count), new Float64Array(count)];
  const starts: number[] = [];
  let start = 0;
  for (const { codes, queries } of covered) {
    const query = itemAt(queries, at);
    const order = partitionOrder(codes, query, use.least, use.probes.widening);
    least.set(order.least, start);
    distances.set(order.distances, start);
    starts.push(start);
    start += codes.partitions.length;
  }
  const sorted = new LeastFirst(least, distances);
  return (place) => {
    const number = sorted.at(place);
    if (number === undefined) return undefined;
    const which = placeIn(starts, number + 1) - 1;
    const own = itemAt(covered, which);
    const partition = itemAt(own.codes.partitions, number - itemAt(starts, which));
    return { own, partition, least: least[number]! };
  };
}

/** Reads a partition, and those of its file that are likely to follow. */
async function load(
  { plan, vectors, nearest }: CodeVisits,
  visits: Visits,
  place: number,
  { own, partition }: Visit,
): Promise<void> {
  const { codes, file, scanned } = own;
  const next = [partition];
  for (let at = place + 1; at < place + READ_AT_ONCE; at++) {
    const visit = visits(at);
    if (visit?.own === own && visit.least <= nearest.limit) next.push(visit.partition);
  }
  if (await vectors.load(plan.snapshot.folder, file, codes, next)) return;
  throw new LostCodes(scanned.fragment);
}

/** The greatest error of distances by codes, of whatever row. */
export function greatestError(covered: readonly CoveredFile[], at: number): number {
  let error = 0;
  for (const { codes, queries } of covered) {
    for (const partition of codes.partitions) {
      error = Math.max(error, placedQuery(itemAt(queries, at), partition).error);
    }
  }
  return error;
}
