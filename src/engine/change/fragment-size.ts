import { bytesOf, type Fragment } from '../table/snapshot.ts';

/** A fragment of fewer rows and bytes is merged with its neighbours. */
export const SMALL_ROWS = 100_000;
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
export function isFullSize(rows: number, bytes: number): boolean {
  return rows >= SMALL_ROWS || bytes >= SMALL_BYTES;
}

export function rowsOf(run: readonly Fragment[]): number {
  return run.reduce((sum, fragment) => sum + fragment.rows, 0);
}
