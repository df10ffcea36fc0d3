import { bytesOf, type Fragment } from '../format/snapshot.ts';

/** A fragment of fewer rows and bytes is merged with its neighbours. */
const SMALL_ROWS = 100_000;
const SMALL_BYTES = 64 * 2 ** 20;

export function isSmall(fragment: Fragment): boolean {
  return !isFullSize(fragment.rows, bytesOf(fragment));
}

/** Whether fragments together make one of full size. */
export function isFull(run: readonly Fragment[]): boolean {
  const bytes = run.reduce((sum, fragment) => sum + bytesOf(fragment), 0);
  return isFullSize(rowsOf(run), bytes);
}

/** Whether a fragment of so many rows and bytes is not small. */
function isFullSize(rows: number, bytes: number): boolean {
  return rows >= SMALL_ROWS || bytes >= SMALL_BYTES;
}

function rowsOf(run: readonly Fragment[]): number {
  return run.reduce((sum, fragment) => sum + fragment.rows, 0);
}

/** Fewer small fragments side by side are left alone. */
const FEWEST = 32;
/**
 * What a merge makes has so many times the rows of each fragment that goes into it,
 * or is of full size: so a row is rewritten a few times, however many small appends follow.
 */
const GROWTH = 8;

/**
 * Small fragments side by side that are worth merging, the smallest ones first;
 * nothing when there are not enough of about one size.
 */
export function runToMerge(fragments: readonly Fragment[]): readonly Fragment[] | undefined {
  const small = runsOf(fragments, isSmall);
  if (small.length === 0) return undefined;
  for (let most = GROWTH; most < GROWTH * SMALL_ROWS; most *= GROWTH) {
    const runs = small.flatMap((run) => runsOf(run, ({ rows }) => rows <= most));
    const worthy = runs.map(toFullSize).find(grows);
    if (worthy !== undefined) return worthy;
  }
  return undefined;
}

/** Long enough stretches of fragments that all are of a kind. */
function runsOf(
  fragments: readonly Fragment[],
  isOfKind: (fragment: Fragment) => boolean,
): readonly (readonly Fragment[])[] {
  let run: Fragment[] = [];
  const runs = [run];
  for (const fragment of fragments) {
    if (isOfKind(fragment)) run.push(fragment);
    else if (run.length > 0) runs.push((run = []));
  }
  return runs.filter((run) => run.length >= FEWEST);
}

/** The first of a run, as many as make a fragment of full size. */
function toFullSize(run: readonly Fragment[]): readonly Fragment[] {
  let [rows, bytes] = [0, 0];
  const end = run.findIndex((fragment) => {
    rows += fragment.rows;
    bytes += bytesOf(fragment);
    return isFullSize(rows, bytes);
  });
  return end < 0 ? run : run.slice(0, end + 1);
}

function grows(run: readonly Fragment[]): boolean {
  const largest = Math.max(...run.map(({ rows }) => rows));
  return isFull(run) || largest * GROWTH <= rowsOf(run);
}
