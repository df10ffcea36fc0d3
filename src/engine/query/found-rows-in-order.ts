import type { RecordBatch } from 'apache-arrow';
import { concat } from '../../arrow/select.ts';
import { needOf } from './computed-columns.ts';
import { rowsBehind, withSearchColumns, type Search } from './found-rows.ts';
import { gather, rowsAtOnce } from './gather.ts';
import type { FoundRows } from './nearest-rows.ts';
import { countOf, pick, rowAt } from './rows.ts';
import { keysOf, orderOf } from './sort-rows.ts';
import type { SortPlan } from './sort-plan.ts';

/**
 * The rows that a search found in the order of keys instead of their distances;
 * of equals the nearer one comes first. The window is one of the rows in order.
 */
export async function* fetchInOrder(
  search: Search,
  sort: SortPlan,
  found: FoundRows,
  queryIndex: number | null,
): AsyncGenerator<RecordBatch> {
  const { plan, scanner, places, meters } = search;
  const sorted = await inOrder(search, sort, found, queryIndex);
  const { offset, limit } = plan.window;
  const end = Math.min(sorted.length, offset + (limit ?? Infinity));
  const rowsOut = Math.max(0, end - offset);
  meters.passed('window', { rowsIn: sorted.length, rowsOut, batches: 1 });
  const step = rowsAtOnce(plan.snapshot);
  for (let start = offset; start < end; start += step) {
    const some = sorted.subarray(start, Math.min(start + step, end));
    const positions = Float64Array.from(some, (at) => found.positions[at]!);
    const distances = Float32Array.from(some, (at) => found.distances[at]!);
    const rows = await gather(scanner, places, positions, plan.need);
    yield withSearchColumns(search, rows, distances, queryIndex);
  }
}

/** The places of the found rows that pass the filter behind the search, sorted by their keys. */
async function inOrder(
  search: Search,
  sort: SortPlan,
  { positions, distances }: FoundRows,
  queryIndex: number | null,
): Promise<Uint32Array> {
  const { plan, postfilter, scanner, places, meters } = search;
  const judged = postfilter?.columns ?? [];
  const need = needOf(plan.snapshot.schema, [...sort.columns, ...judged]);
  const step = rowsAtOnce(plan.snapshot);
  const keys: RecordBatch[] = [];
  const kept: number[] = [];
  for (let start = 0; start < positions.length; start += step) {
    const some = positions.subarray(start, start + step);
    const rows = await gather(scanner, places, some, need);
    const batch = withSearchColumns(
      search,
      rows,
      distances.subarray(start, start + step),
      queryIndex,
    );
    const passing = rowsBehind(search, batch);
    const row = rowAt(passing);
    for (let at = 0; at < countOf(passing); at++) kept.push(start + row(at));
    keys.push(meters.timed('sort', () => keysOf(sort, pick(batch, passing))));
  }
  if (keys.length === 0) return new Uint32Array();
  const order = meters.timed('sort', () => orderOf(sort, concat(keys)));
  const { length } = kept;
  meters.passed('sort', { rowsIn: length, rowsOut: length, batches: keys.length });
  return order.map((at) => kept[at]!);
}
