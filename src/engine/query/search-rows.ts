import { Float32, Int32, makeData, makeVector, type RecordBatch } from 'apache-arrow';
import { distances } from '../../arrow/distance.ts';
import { withColumn } from '../../arrow/select.ts';
import { DISTANCE, needOf, QUERY_INDEX } from './computed-columns.ts';
import { columnAt } from './column-path.ts';
import { rowsWhere } from './formula.ts';
import { gather, Places, rowsAtOnce } from './gather.ts';
import { NearestRows, type FoundRows } from './nearest-rows.ts';
import { workAhead } from '../table/work-ahead.ts';
import { Pace } from './pace.ts';
import type { NearestPlan, QueryPlan } from './plan.ts';
import { countOf, listed, pick, stretch } from './rows.ts';
import type { Scanner } from './scan.ts';
import { readingOrder, selectedRows } from './selected-rows.ts';
import { WindowCutter } from './window.ts';

/** The rows of a search: for each query vector in turn, the nearest first. The search is exact. */
export async function* searchRows(
  plan: QueryPlan,
  nearest: NearestPlan,
  scanner: Scanner,
): AsyncGenerator<RecordBatch> {
  const places = new Places();
  const kept = await collect(plan, nearest, scanner, places);
  for (const [index, rows] of kept.entries()) {
    const queryIndex = nearest.batch ? index : null;
    yield* fetchRows({ plan, nearest, scanner, places }, rows.found(), queryIndex);
  }
}

/** One pass over the vectors, for all query vectors at once. */
async function collect(
  plan: QueryPlan,
  nearest: NearestPlan,
  scanner: Scanner,
  places: Places,
): Promise<readonly NearestRows[]> {
  const kept = nearest.vectors.map(() => new NearestRows(nearest.keep ?? Infinity, nearest.bounds));
  const { first, late, lateAhead } = readingOrder(
    plan,
    needOf(plan.snapshot.schema, [nearest.column.column]),
  );
  const pace = new Pace();
  const selected = selectedRows(plan, scanner, first);
  const widened = workAhead(selected, lateAhead, async ({ found, rows }) => ({
    whole: await scanner.widen(found, late),
    rows,
  }));
  for await (const { whole, rows } of widened) {
    const { place } = whole;
    places.add(place);
    const column = columnAt(whole.batch, nearest.column);
    const list = rows.kind === 'list' ? rows.rows : null;
    for (const [index, vector] of nearest.vectors.entries()) {
      kept[index]!.offer(distances(nearest.metric, vector, column, list), list, place.offset);
      await pace.turn();
    }
    whole.release?.();
  }
  return kept;
}

interface Search {
  readonly plan: QueryPlan;
  readonly nearest: NearestPlan;
  readonly scanner: Scanner;
  readonly places: Places;
}

/** Without a filter behind the search, rows that the window skips are not even read. */
async function* fetchRows(
  search: Search,
  found: FoundRows,
  queryIndex: number | null,
): AsyncGenerator<RecordBatch> {
  const { plan, nearest, scanner, places } = search;
  const { offset, limit } = plan.window;
  const skipped = nearest.postfilter === null ? Math.min(offset, found.positions.length) : 0;
  const cutter = new WindowCutter({ offset: offset - skipped, limit });
  const step = rowsAtOnce(plan.snapshot);
  for (let start = skipped; start < found.positions.length && !cutter.done; start += step) {
    const positions = found.positions.subarray(start, start + step);
    const rows = await gather(scanner, places, positions, plan.need);
    const judged = withSearchColumns(
      rows,
      found.distances.subarray(start, start + step),
      queryIndex,
    );
    const batch = cutRows(judged, nearest, cutter);
    if (batch !== null) yield batch;
  }
}

function cutRows(
  batch: RecordBatch,
  nearest: NearestPlan,
  cutter: WindowCutter,
): RecordBatch | null {
  const { postfilter } = nearest;
  const rows =
    postfilter === null
      ? stretch(0, batch.numRows)
      : listed(rowsWhere(postfilter, batch), batch.numRows);
  const kept = cutter.cut(rows);
  return countOf(kept) === 0 ? null : pick(batch, kept);
}

function withSearchColumns(
  batch: RecordBatch,
  found: Float32Array,
  index: number | null,
): RecordBatch {
  const distance = makeVector(makeData({ type: new Float32(), data: found }));
  const wider = withColumn(batch, DISTANCE, distance);
  if (index === null) return wider;
  const indices = new Int32Array(batch.numRows).fill(index);
  return withColumn(wider, QUERY_INDEX, makeVector(makeData({ type: new Int32(), data: indices })));
}
