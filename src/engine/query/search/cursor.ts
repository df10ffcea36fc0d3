/** Position after the last row. */
export const END = 0xffffffff;

/** Iterates over the rows of a fragment that a query finds. */
export interface Cursor {
  /** The current row; `END` after the last. */
  readonly row: number;
  /** Upper bound of scores. */
  readonly bound: number;
  /** Upper bound of the number of rows. */
  readonly count: number;
  /** Advances to the next row and returns it. */
  next(): number;
  /** Advances to the first row at or after another. Stays if it is already there. */
  seek(row: number): number;
  /** The score of the current row. */
  score(): number;
  /** Allows to skip rows, or to lower their scores, that do not score higher. */
  demand(score: number): void;
}

/** A cursor that knows bounds of the scores of some rows before it visits them. */
export interface BoundedCursor extends Cursor {
  /**
   * Upper bound of the scores from a row on and before `reach`. Earlier rows are not visited any more.
   */
  boundFrom(row: number): number;
  /** The first row that the last call of `boundFrom` did not cover. */
  readonly reach: number;
}

export function isBounded(cursor: Cursor): cursor is BoundedCursor {
  return 'boundFrom' in cursor;
}

/** A cursor without rows. */
export const nothing: Cursor = {
  row: END,
  bound: 0,
  count: 0,
  next: () => END,
  seek: () => END,
  score: () => 0,
  demand: () => undefined,
};
