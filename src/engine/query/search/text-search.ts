import { placeIn } from '../../index/keys/row-set.ts';
import { NearestRows } from '../../index/vectors/nearest-rows.ts';
import { fragmentKey, type Fragment, type Snapshot } from '../../format/snapshot.ts';
import { findWords, type TextPlace, type WordsFound } from './column-texts.ts';
import { END, nothing, type Cursor } from './cursor.ts';
import { queryCursor, type QueryWords } from './query-cursor.ts';
import { checkTogether, searchWords } from './search-words.ts';
import type { TextPlan } from '../../index/text/text-plan.ts';
import { leavesOf, type LeafQuery } from '../../request/text-query.ts';
import type { Meters } from '../scan/meters.ts';
import { NO_COLUMNS } from '../../request/computed-columns.ts';
import type { QueryPlan } from '../plan/plan.ts';
import { countOf, rowAt } from '../scan/rows.ts';
import type { Scanner } from '../scan/scan.ts';
import { selectedRows } from '../rows/selected-rows.ts';
import { setBit, getBit } from '../../../arrow/bitmap.ts';

/** Found rows, highest score first. */
export interface ScoredRows {
  /** Positions among the rows of all fragments, including deleted ones. */
  readonly positions: Float64Array;
  readonly scores: Float32Array;
}

interface ExcludedRows {
  readonly allowed: AllowedRows | null;
  /** The deleted rows of a fragment, ascending. */
  deletions(fragment: Fragment): Promise<Uint32Array>;
}

/** Rows that a query finds, up to the plan's limit; equal scores in table order. */
export async function findTexts(
  plan: TextPlan,
  place: TextPlace,
  excluded: ExcludedRows,
): Promise<ScoredRows> {
  const { allowed } = excluded;
  const { turn } = place;
  const words = await wordsOfAll(plan, place);
  const best = new NearestRows(plan.keep ?? Infinity, { lower: null, upper: null }, place.charge);
  let first = 0;
  for (const fragment of place.snapshot.fragments) {
    const bits = allowed === null ? null : allowed.get(fragmentKey(fragment));
    const cursor =
      bits === undefined ? nothing : queryCursor(plan.query, fragment, (leaf) => words.get(leaf)!);
    if (cursor.row !== END) {
      const deleted = await excluded.deletions(fragment);
      const passes = (row: number) => isThere(row, deleted) && isAllowed(row, bits ?? null);
      await collect(cursor, passes, { best, first }, turn);
    }
    first += fragment.physicalRows;
    await turn();
  }
  const { positions, distances } = best.found();
  return { positions, scores: distances.map((distance) => -distance) };
}

/** Finds the words of all queries column by column. */
async function wordsOfAll(
  { query, texts }: TextPlan,
  place: TextPlace,
): Promise<ReadonlyMap<LeafQuery, QueryWords>> {
  const words = new Map<LeafQuery, QueryWords>();
  const all = leavesOf(query);
  const searches = texts.map((text) => {
    const leaves = all.filter(({ column }) => column === text.column);
    return { text, searched: leaves.map((leaf) => searchWords(leaf, text)) };
  });
  checkTogether(searches.flatMap(({ searched }) => searched));
  for (const { text, searched } of searches) {
    const found: WordsFound = await findWords(place, text, searched);
    for (const each of searched) words.set(each.leaf, { words: each, found });
  }
  return words;
}

function isThere(row: number, deleted: Uint32Array): boolean {
  return deleted.length === 0 || deleted[placeIn(deleted, row)] !== row;
}

function isAllowed(row: number, bits: Uint8Array | null): boolean {
  return bits === null || getBit(bits, row);
}

/** Number of rows between checks whether to yield. */
const ROWS_AT_ONCE = 4096;

/** The best rows so far, and the position of the fragment's first row. */
interface Kept {
  readonly best: NearestRows;
  readonly first: number;
}

async function collect(
  cursor: Cursor,
  passes: (row: number) => boolean,
  { best, first }: Kept,
  turn: () => Promise<void>,
): Promise<void> {
  let { limit } = best;
  let least = roundedTo(-limit);
  let count = 0;
  cursor.demand(least);
  for (let { row } = cursor; row !== END; row = cursor.next()) {
    if (++count % ROWS_AT_ONCE === 0) await turn();
    const score = cursor.score();
    if (score <= least || !passes(row)) continue;
    best.offerRow(Math.fround(-score), first + row);
    if (best.limit === limit) continue;
    ({ limit } = best);
    least = roundedTo(-limit);
    cursor.demand(least);
  }
}

const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

/**
 * A score below which all scores are rounded to a 32-bit float or to less. Without it, a bound of rows
 * that score the same would be above the float as often as not.
 */
function roundedTo(least: number): number {
  if (!(least > 0)) return least;
  float[0] = least;
  bits[0]!++;
  return least + 0.49 * (float[0] - least);
}

/** A row as its fragment and position in the fragment's files. */
interface RowPlace {
  readonly fragment: number;
  readonly row: number;
}

/** Maps positions among the rows of all fragments to fragments and rows. */
export function rowPlaces({ fragments }: Snapshot): (position: number) => RowPlace {
  const starts: number[] = [];
  let sum = 0;
  for (const { physicalRows } of fragments) {
    starts.push(sum);
    sum += physicalRows;
  }
  return (position) => {
    const fragment = placeIn(starts, position + 1) - 1;
    return { fragment, row: position - starts[fragment]! };
  };
}

/** A bit per row of a fragment that a search may find. */
type AllowedRows = ReadonlyMap<string, Uint8Array>;

/** The rows that pass the filter before a search; null when there is none. */
export async function allowedRows(
  plan: QueryPlan,
  scanner: Scanner,
  meters: Meters,
): Promise<AllowedRows | null> {
  if (plan.requestedFilter === null) return null;
  const allowed = new Map<string, Uint8Array>();
  const need = plan.filter === null ? NO_COLUMNS : plan.filterNeed;
  for await (const { found, rows } of selectedRows(plan, scanner, need, meters)) {
    const { fragment, start, live } = found.place;
    const bits = bitsOf(allowed, fragment);
    const row = rowAt(rows);
    for (let at = 0; at < countOf(rows); at++) {
      const place = start + (live === null ? row(at) : live[row(at)]!);
      setBit(bits, place);
    }
    found.release?.();
  }
  return allowed;
}

function bitsOf(allowed: Map<string, Uint8Array>, fragment: Fragment): Uint8Array {
  const key = fragmentKey(fragment);
  const bits = allowed.get(key) ?? new Uint8Array(Math.ceil(fragment.physicalRows / 8));
  allowed.set(key, bits);
  return bits;
}
