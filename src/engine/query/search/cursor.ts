/** Behind the last row. */
export const END = 0xffffffff;

/** Goes through the rows of a fragment that a query finds, in their order. */
export interface Cursor {
  /** Where it stands; `END` behind the last row. */
  readonly row: number;
  /** No row has a higher score. */
  readonly bound: number;
  /** It finds no more rows than so many. */
  readonly count: number;
  /** Goes to the next row and answers it. */
  next(): number;
  /** Goes to the first row that is not before another; stays where it is if that is behind it. */
  seek(row: number): number;
  /** The score of the row where it stands. */
  score(): number;
  /** From now on rows that score no higher may be left out, or be given a lower score. */
  demand(score: number): void;
}

/** Finds nothing. */
export const nothing: Cursor = {
  row: END,
  bound: 0,
  count: 0,
  next: () => END,
  seek: () => END,
  score: () => 0,
  demand: () => undefined,
};
