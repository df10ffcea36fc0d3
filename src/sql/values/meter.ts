import type { Column } from './column.ts';

/**
 * What an evaluation may use. Each method throws where a limit is passed; what it throws
 * ends the evaluation and is left as it is.
 */
export interface EvaluationBudget {
  /** Runs work that waits for nothing, and counts its time. */
  run<Result>(work: () => Result): Result;
  /** Counts bytes that are about to be held. */
  charge(bytes: number): void;
  /** Gives back bytes that were charged. */
  release(bytes: number): void;
  /** Counts bytes of work, and looks at the clock once in a while. */
  work(bytes: number): void;
}

const unbounded: EvaluationBudget = {
  run: (work) => work(),
  charge: () => undefined,
  release: () => undefined,
  work: () => undefined,
};

// Evaluation waits for nothing, so there is one at a time: kernels need not be handed its budget.
let current: EvaluationBudget = unbounded;
/** Bytes that are charged for results of the running evaluation. */
let held = 0;
/** Bytes that are charged until it ends. */
let pinned = 0;
/** Bytes of work that the budget has not been told of. */
let untold = 0;

/** Work is told in portions of so many bytes. */
const PORTION = 2 ** 14;

/** Evaluates under a budget. What the evaluation holds is given back at its end, its result included. */
export function metered<Result>(budget: EvaluationBudget | undefined, work: () => Result): Result {
  const before = { current, held, pinned, untold };
  current = budget ?? unbounded;
  held = pinned = untold = 0;
  try {
    return current.run(work);
  } finally {
    current.release(held + pinned);
    ({ current, held, pinned, untold } = before);
  }
}

/** Counts bytes that are read, written or compared. */
export function spend(bytes: number): void {
  untold += bytes;
  if (untold < PORTION) return;
  const portion = untold;
  untold = 0;
  current.work(portion);
}

/** Counts bytes of a result, before they are allocated. */
export function hold(bytes: number): void {
  current.charge(bytes);
  held += bytes;
}

/** Checks that there is room for bytes that are needed for a moment. */
export function room(bytes: number): void {
  current.charge(bytes);
  current.release(bytes);
}

/** Counts bytes that are kept until the evaluation ends, whatever becomes of the node that made them. */
export function pin(bytes: number): void {
  current.charge(bytes);
  pinned += bytes;
}

/** Bytes that results hold now: for `settle`. */
export function heldNow(): number {
  return held;
}

/** Results below so many bytes are not looked at. */
const SMALL = 2 ** 16;

/** Gives back what a node held for its operands: only its own values are needed from now on. */
export function settle(before: number, column: Column): void {
  const made = held - before;
  if (made < SMALL) return;
  const needed = Math.min(made, sizeOf(column));
  current.release(made - needed);
  held = before + needed;
}

/** Bytes that a column holds, shared ones included. */
export function sizeOf(column: Column): number {
  if (column.kind === 'states') return column.length;
  if (column.kind === 'number' || column.kind === 'bigint') return column.values.byteLength;
  if (column.kind === 'wide') return column.length * 32;
  if (column.kind === 'bytes') return column.bytes.byteLength + column.length * 8;
  if (column.kind === 'list') return column.length * 8 + sizeOf(column.child);
  // Fields of a struct are made when they are asked for.
  return column.kind === 'null' ? 0 : Infinity;
}
