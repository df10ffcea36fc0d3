import { fragmentDataBytes, type Fragment } from '../format/snapshot.ts';

/** Fragments with fewer rows and bytes are merged with their neighbours. */
const SMALL_ROWS = 100_000;
const SMALL_BYTES = 64 * 2 ** 20;

export function isSmall(fragment: Fragment): boolean {
  return !isFullSize(fragment.rows, fragmentDataBytes(fragment));
}

/** Whether fragments together have full size. */
export function isFull(run: readonly Fragment[]): boolean {
  const bytes = run.reduce((sum, fragment) => sum + fragmentDataBytes(fragment), 0);
  return isFullSize(rowsOf(run), bytes);
}

/** Whether a fragment of this size is not small. */
function isFullSize(rows: number, bytes: number): boolean {
  return rows >= SMALL_ROWS || bytes >= SMALL_BYTES;
}

function rowsOf(run: readonly Fragment[]): number {
  return run.reduce((sum, fragment) => sum + fragment.rows, 0);
}

/** Length of the shortest run of small fragments that is merged, unless it is configured. */
const FEWEST = 32;
/**
 * A merged fragment has this multiple of the rows of each input, or full size, so each row is
 * rewritten only a few times.
 */
const GROWTH = 8;

/**
 * The run of adjacent small fragments to merge, smallest first; undefined if there are not enough
 * of similar size.
 * @param fewest Length of the shortest run that is merged; null for none.
 */
export function runToMerge(
  fragments: readonly Fragment[],
  fewest: number | null = FEWEST,
): readonly Fragment[] | undefined {
  if (fewest === null) return undefined;
  const small = runsOf(fragments, isSmall, fewest);
  if (small.length === 0) return undefined;
  for (let most = GROWTH; most < GROWTH * SMALL_ROWS; most *= GROWTH) {
    const runs = small.flatMap((run) => runsOf(run, ({ rows }) => rows <= most, fewest));
    const worthy = runs.map(toFullSize).find(grows);
    if (worthy !== undefined) return worthy;
  }
  return undefined;
}

/** Long enough runs of fragments of a kind. */
function runsOf(
  fragments: readonly Fragment[],
  isOfKind: (fragment: Fragment) => boolean,
  fewest: number,
): readonly (readonly Fragment[])[] {
  let run: Fragment[] = [];
  const runs = [run];
  for (const fragment of fragments) {
    if (isOfKind(fragment)) run.push(fragment);
    else if (run.length > 0) runs.push((run = []));
  }
  return runs.filter((run) => run.length >= fewest);
}

/** The start of a run up to full size. */
function toFullSize(run: readonly Fragment[]): readonly Fragment[] {
  let [rows, bytes] = [0, 0];
  const end = run.findIndex((fragment) => {
    rows += fragment.rows;
    bytes += fragmentDataBytes(fragment);
    return isFullSize(rows, bytes);
  });
  return end < 0 ? run : run.slice(0, end + 1);
}

function grows(run: readonly Fragment[]): boolean {
  const largest = Math.max(...run.map(({ rows }) => rows));
  return isFull(run) || largest * GROWTH <= rowsOf(run);
}
