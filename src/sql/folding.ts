import { SqlError } from './errors.ts';
import { maxFolded } from './limits.ts';
import type { Scalar } from './scalar.ts';

/** What is left for the expression that is being bound: that is done in one go, so there is one at a time. */
let left = Infinity;

/** Binds an expression of which the parts that are the same for all rows may take so much work and no more. */
export function folding<Result>(bind: () => Result): Result {
  if (left !== Infinity) return bind();
  left = maxFolded;
  try {
    return bind();
  } finally {
    left = Infinity;
  }
}

/**
 * Counts what a call was computed from, and its value. There may be thousands of calls in an
 * expression, each with a value that is as long as one may be.
 */
export function countFolded(name: string, values: readonly Scalar[], position: number): void {
  const sizes = values.map(sizeOf);
  left -= sizes.reduce((sum, size) => sum + size, 0);
  // Each character of one is compared with each of the other.
  if (name === 'levenshtein') left -= sizes[0]! * sizes[1]!;
  if (left >= 0) return;
  const message = `expected at most ${maxFolded} characters and elements in what is the same for all rows, found more`;
  throw new SqlError('limit', message, position);
}

function sizeOf(value: Scalar): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length;
  if (typeof value !== 'object' || value === null || !('kind' in value)) return 1;
  return value.kind === 'list' ? value.child.length : value.length;
}
