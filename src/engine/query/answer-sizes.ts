import type { BatchSize } from '../table/stored-sizes.ts';
import type { BatchSource } from '../table/fragment-reader.ts';
import { isLarge } from './coalesce.ts';
import type { QueryPlan } from './plan.ts';
import { columnsOf } from './projection.ts';

/** The files of more fragments are not opened before an answer begins. */
const MOST_FRAGMENTS = 128;

/** The bodies of an answer's batches in bytes, where each stored batch is sent as it lies; null for any other. */
export async function answerSizes(
  plan: QueryPlan,
  source: BatchSource,
): Promise<readonly number[] | null> {
  if (source.sizes === undefined || !passesBatchesOn(plan)) return null;
  const all: BatchSize[] = [];
  for (const { fragment, batches } of plan.files) {
    const sizes = await source.sizes(plan.snapshot, fragment, columnsOf(plan.projections));
    if (sizes === null) return null;
    all.push(...(batches ? sizes.slice(batches.first, batches.first + batches.count) : sizes));
  }
  const rows = all.reduce((sum, size) => sum + size.rows, 0);
  if ((plan.window.limit ?? Infinity) < rows || !isSentApart(all)) return null;
  return all.map(({ bodyBytes }) => bodyBytes);
}

function passesBatchesOn({
  files,
  filter,
  nearest,
  text,
  sort,
  window,
  projections,
  need,
}: QueryPlan): boolean {
  const asTheyLie = filter === null && nearest === null && text === null && sort === null;
  const whole = window.offset === 0 && need.placed.length === 0 && files.length <= MOST_FRAGMENTS;
  return (
    asTheyLie &&
    whole &&
    projections.every((each) => each.kind === 'path' && each.path.formula === null) &&
    files.every((file) => file.lookup === undefined && file.chosen === undefined) &&
    files.every(({ fragment }) => fragment.deletions === null)
  );
}

/** Whether no batch is joined with another: of two that follow each other one is large. */
function isSentApart(sizes: readonly BatchSize[]): boolean {
  return sizes.every(
    (size, at) =>
      size.rows > 0 && size.bodyBytes > 0 && (at === 0 || isLarge(size) || isLarge(sizes[at - 1]!)),
  );
}
