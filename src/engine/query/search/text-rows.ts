import type { RecordBatch } from 'apache-arrow';
import { NO_COLUMNS, SCORE, type ColumnNeed } from '../../request/computed-columns.ts';
import { fetchInOrder } from '../rows/found-rows.ts';
import { BatchPlaces } from '../scan/gather.ts';
import type { Meters } from '../scan/meters.ts';
import type { RowsByDistance } from '../../index/vectors/nearest-rows.ts';
import { Pace } from '../../base/pace.ts';
import { allFiles, type QueryPlan } from '../plan/plan.ts';
import { KEPT_ROWS, type Scanner } from '../scan/scan.ts';
import { fetchRows } from './search-rows.ts';
import type { BatchSource } from '../scan/batch-source.ts';
import { allowedRows, findTexts, rowPlaces, type ScoredRows } from './text-search.ts';
import type { TextPlan } from '../../index/text/text-plan.ts';
import type { TextSource } from '../../index/text/text-source.ts';
import { itemAt } from '../../base/items.ts';

/** Rows of a full-text search, highest score first. */
export async function* textRows(
  plan: QueryPlan,
  text: TextPlan,
  source: BatchSource,
  scanner: Scanner,
  meters: Meters,
): AsyncGenerator<RecordBatch> {
  const { texts } = source;
  if (texts === undefined) throw new Error('a full-text search needs a source with texts');
  const found = await search(plan, text, source, texts, scanner, meters);
  meters.passed('search', { rowsOut: found.positions.length });
  const places = new BatchPlaces();
  const rows = await placed(plan, needAtOnce(plan, text, found), found, texts, scanner, places);
  const searched = { plan, postfilter: text.postfilter, column: SCORE, scanner, places, meters };
  yield* plan.sort === null
    ? fetchRows(searched, rows, null)
    : fetchInOrder(searched, plan.sort, rows, null);
}

/** A few rows, all of which are answered, are read with all columns at once. */
function needAtOnce(
  { need, window, sort }: QueryPlan,
  { postfilter }: TextPlan,
  { positions }: ScoredRows,
): ColumnNeed {
  const few = positions.length <= KEPT_ROWS && window.offset === 0;
  return few && postfilter === null && sort === null ? need : NO_COLUMNS;
}

async function search(
  plan: QueryPlan,
  text: TextPlan,
  source: BatchSource,
  texts: TextSource,
  scanner: Scanner,
  meters: Meters,
): Promise<ScoredRows> {
  const { snapshot } = plan;
  const allowed = await allowedRows(plan, scanner, meters);
  const pace = new Pace(plan.statement.budget);
  const deletions = (fragment: QueryPlan['snapshot']['fragments'][number]) =>
    texts.deletions(snapshot, fragment);
  const turn = () => pace.turn();
  const charge = (bytes: number) => plan.statement.budget.charge(bytes);
  const place = { source, snapshot, fastSearch: text.fastSearch, turn, charge };
  const work = findTexts(text, place, { allowed, deletions });
  meters.passed('search', { rowsIn: Number(snapshot.rows), batches: 1 });
  return meters.awaited('search', work);
}

/**
 * Resolves the places of rows fragment by fragment; their order stays.
 * @param need Columns that are kept where the rows of a batch are few.
 */
async function placed(
  { snapshot }: QueryPlan,
  need: ColumnNeed,
  { positions, scores }: ScoredRows,
  texts: TextSource,
  scanner: Scanner,
  places: BatchPlaces,
): Promise<RowsByDistance> {
  const placeOf = rowPlaces(snapshot);
  const files = allFiles(snapshot);
  const moved = new Float64Array(positions.length);
  // Order of the found rows in the table.
  const order = Uint32Array.from(positions, (_, at) => at);
  order.sort((one, other) => positions[one]! - positions[other]!);
  for (let start = 0, end = start; start < order.length; start = end) {
    const least = positions[order[start]!]!;
    const { fragment, row } = placeOf(least);
    const first = least - row;
    const file = itemAt(files, fragment);
    const behind = first + file.fragment.physicalRows;
    while (end < order.length && positions[order[end]!]! < behind) end++;
    const found = order.subarray(start, end);
    const rows = found.map((at) => positions[at]! - first);
    let next = 0;
    const candidates = await texts.rows(snapshot, file.fragment, rows);
    for await (const place of scanner.chosen(file, candidates, need)) {
      places.add(place);
      for (let at = 0; at < place.rows; at++) moved[found[next++]!] = place.offset + at;
    }
  }
  return { positions: moved, distances: scores };
}
