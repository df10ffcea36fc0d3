import type { Column } from './column.ts';

/**
 * Resources of an evaluation. Each method throws when a limit is exceeded; what it throws
 * ends the evaluation and is left as it is.
 */
export interface EvaluationBudget {
  /** Runs synchronous work and charges its time. */
  run<Result>(work: () => Result): Result;
  /** Charges memory, in bytes. */
  charge(bytes: number): void;
  /** Releases charged memory, in bytes. */
  release(bytes: number): void;
  /** Charges work, in bytes, and checks the deadline from time to time. */
  work(bytes: number): void;
}

const unbounded: EvaluationBudget = {
  run: (work) => work(),
  charge: () => undefined,
  release: () => undefined,
  work: () => undefined,
};

// Evaluation is synchronous, so only one runs at a time and kernels need no reference to its budget.
let current: EvaluationBudget = unbounded;
/** Bytes that are charged for results of the running evaluation. */
let held = 0;
/** Bytes that are charged until it ends. */
let pinned = 0;
/** Work that is not charged to the budget yet, in bytes. */
let uncharged = 0;

/** Work is charged in portions of this many bytes. */
const PORTION = 2 ** 14;

/** Evaluates under a budget. All memory is released at its end, that of the result included. */
export function metered<Result>(budget: EvaluationBudget | undefined, work: () => Result): Result {
  const before = { current, held, pinned, uncharged };
  current = budget ?? unbounded;
  held = pinned = uncharged = 0;
  try {
    return current.run(work);
  } finally {
    current.release(held + pinned);
    ({ current, held, pinned, uncharged } = before);
  }
}

/** Charges work: bytes that are read, written or compared. */
export function spend(bytes: number): void {
  uncharged += bytes;
  if (uncharged < PORTION) return;
  const portion = uncharged;
  uncharged = 0;
  current.work(portion);
}

/** Charges the memory of a result before it is allocated. */
export function hold(bytes: number): void {
  current.charge(bytes);
  held += bytes;
}

/** Checks that temporary memory is available. */
export function room(bytes: number): void {
  current.charge(bytes);
  current.release(bytes);
}

/** Charges memory that stays in use until the evaluation ends. */
export function pin(bytes: number): void {
  current.charge(bytes);
  pinned += bytes;
}

/** Memory of current results, for `settle`. */
export function heldNow(): number {
  return held;
}

/** Results below this many bytes are not settled. */
const SMALL = 2 ** 16;

/** Releases the memory of a node's operands: only its own values are needed from now on. */
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
  // Fields of a struct are created on first use.
  return column.kind === 'null' ? 0 : Infinity;
}
