import type { RecordBatch } from 'apache-arrow';
import type { NearestSink } from '../../../arrow/distance/nearer.ts';
import { DISTANCE, needOf, type ColumnNeed } from '../../request/computed-columns.ts';
import { columnAt } from '../../request/column-path.ts';
import {
  rowsBehind,
  withSearchColumns,
  fetchInOrder,
  type RunningSearch,
} from '../rows/found-rows.ts';
import { gather, BatchPlaces, rowsAtOnce } from '../scan/gather.ts';
import type { Meters } from '../scan/meters.ts';
import { NearestRows, type RowsByDistance } from '../../index/vectors/nearest-rows.ts';
import { chosenFiles } from '../rows/indexed-search.ts';
import { workAhead } from '../../format/memory/read-memory.ts';
import { Pace } from '../../base/pace.ts';
import type { NearestPlan, QueryPlan } from '../plan/plan.ts';
import { countOf, pick, WindowCutter } from '../scan/rows.ts';
import type { Scanner } from '../scan/scan.ts';
import { offerNear } from '../../request/search-metric.ts';
import { readingOrder, selectedRows } from '../rows/selected-rows.ts';
import { itemAt } from '../../base/items.ts';

/**
 * Rows of a vector search: for each query vector in turn, nearest first. Distances and order are
 * exact; an index only chooses candidates.
 */
export async function* searchRows(
  plan: QueryPlan,
  nearest: NearestPlan,
  scanner: Scanner,
  meters: Meters,
): AsyncGenerator<RecordBatch> {
  const { search, nearestRows } = await nearestOf({ plan, scanner, meters }, nearest);
  for (const [index, rows] of nearestRows.entries()) {
    const queryIndex = nearest.batch ? index : null;
    const found = meters.timed('search', () => rows.found());
    meters.passed('search', { rowsOut: found.positions.length });
    yield* plan.sort === null
      ? fetchRows(search, found, queryIndex)
      : fetchInOrder(search, plan.sort, found, queryIndex);
  }
}

interface Collected {
  readonly search: RunningSearch;
  readonly nearestRows: readonly NearestRows[];
}

/** Uses an index first. If it does not find enough rows, all vectors are compared. */
async function nearestOf(
  { plan, scanner, meters }: Pick<RunningSearch, 'plan' | 'scanner' | 'meters'>,
  nearest: NearestPlan,
): Promise<Collected> {
  const { postfilter } = nearest;
  const begin = (): RunningSearch => ({
    plan,
    postfilter,
    column: DISTANCE,
    scanner,
    places: new BatchPlaces(),
    meters,
  });
  if (nearest.index !== null) {
    const chosen = await chosenFiles({ plan, nearest, scanner, meters }, nearest.index);
    if (chosen !== null) {
      const search = begin();
      const judged = chosen.files.some((file) => file.chosen === undefined);
      const filter = judged ? plan.filter : null;
      const some = { ...search, plan: { ...plan, files: chosen.files, filter } };
      const nearestRows = await collect(some, nearest);
      if (!chosen.some || nearestRows.every(({ size }) => size === nearest.keep))
        return { search, nearestRows };
    }
  }
  const search = begin();
  return { search, nearestRows: await collect(search, nearest) };
}

/** Compares all vectors with all query vectors in one pass. */
async function collect(
  search: RunningSearch,
  nearest: NearestPlan,
): Promise<readonly NearestRows[]> {
  const { plan, scanner, places, meters } = search;
  const charge = (bytes: number) => plan.statement.budget.charge(bytes);
  const retained = nearest.vectors.map(
    () => new NearestRows(nearest.keep ?? Infinity, nearest.bounds, charge),
  );
  const { first, late, lateAhead } = readingOrder(plan, searchNeed(plan, nearest));
  const pace = new Pace();
  const selected = selectedRows(plan, scanner, first, meters);
  const widened = workAhead(selected, lateAhead, async ({ found, rows }) => ({
    whole: await scanner.widen(found, late),
    rows,
  }));
  for await (const { whole, rows } of widened) {
    const { place } = whole;
    places.add(place);
    const column = columnAt(whole.batch, nearest.column);
    const list = rows.kind === 'list' ? rows.rows : null;
    meters.passed('search', { rowsIn: countOf(rows), batches: 1 });
    for (const [index, vector] of nearest.vectors.entries()) {
      meters.timed('search', () => {
        const sink = sinkOf(itemAt(retained, index), place.offset);
        offerNear(nearest.metric, vector, column, list, sink);
      });
      await pace.turn();
    }
    whole.release?.();
  }
  return retained;
}

/** Rows chosen by an index are read with all columns at once, since most of them are answered. */
function searchNeed({ snapshot, files, need }: QueryPlan, nearest: NearestPlan): ColumnNeed {
  const rows = files.reduce((sum, { chosen }) => sum + (chosen?.length ?? Infinity), 0);
  const most = 2 * (nearest.keep ?? 0) * nearest.vectors.length;
  const whole = nearest.postfilter === null && rows <= most;
  return needOf(snapshot.schema, [nearest.column.column, ...(whole ? need.stored : [])]);
}

/** Collects rows of a batch at an offset in the table. */
function sinkOf(rows: NearestRows, offset: number): NearestSink {
  return {
    get limit() {
      return rows.limit;
    },
    offer: (found, at) => rows.offer(found, at, offset),
  };
}

/** Fetches found rows. Without a postfilter, rows before the window are not read. */
export async function* fetchRows(
  search: RunningSearch,
  found: RowsByDistance,
  queryIndex: number | null,
): AsyncGenerator<RecordBatch> {
  const { plan, postfilter, scanner, places, meters } = search;
  const { offset, limit } = plan.window;
  const skipped = postfilter === null ? Math.min(offset, found.positions.length) : 0;
  const cutter = new WindowCutter({ offset: offset - skipped, limit });
  const step = rowsAtOnce(plan.snapshot);
  meters.passed('window', { rowsIn: skipped });
  for (let start = skipped; start < found.positions.length && !cutter.done; start += step) {
    const positions = found.positions.subarray(start, start + step);
    const rows = await gather(scanner, places, positions, plan.need);
    const judged = withSearchColumns(
      search,
      rows,
      found.distances.subarray(start, start + step),
      queryIndex,
    );
    const passing = rowsBehind(search, judged);
    const retained = cutter.cut(passing);
    meters.passed('window', { rowsIn: countOf(passing), rowsOut: countOf(retained), batches: 1 });
    if (countOf(retained) > 0) yield pick(judged, retained);
  }
}
