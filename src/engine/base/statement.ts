import type { DataType, RecordBatch, Vector } from 'apache-arrow';
import { unboundedBudget, type RequestBudget } from '../../protocol/budget.ts';
import { momentNow } from '../../sql/bind/scope.ts';
import type { CatalogRequest } from '../../protocol/backend.ts';
import type { Permit } from '../../protocol/permit.ts';
import type { BoundExpression } from '../../sql/evaluate/bound.ts';

/** An expression of a request, bound to the columns it may use. */
export interface Formula {
  /** The request's field it came from, for refusals. */
  readonly source: string;
  readonly text: string;
  readonly bound: BoundExpression;
  /** Shared with the other expressions of its request. */
  readonly statement: Statement;
  /** Kind of binding: a value, a value for a column of a type, or a predicate. */
  readonly use: 'value' | 'predicate' | DataType;
  /** The top-level columns it reads. */
  readonly columns: readonly string[];
}

/** Evaluates long formulas outside of the main thread. */
export interface FormulaThreads {
  /** Whether a formula over the rows of a batch would keep others waiting. */
  isLong(formula: Formula, batch: RecordBatch): boolean;
  rowsWhere(formula: Formula, batch: RecordBatch): Promise<Uint32Array>;
  valuesOf(formula: Formula, batch: RecordBatch): Promise<Vector>;
}

/** Shared by all expressions of a request. */
export interface Statement {
  /** The moment that `now()` and the like give, in nanoseconds since 1970. */
  readonly now: bigint;
  /** Budget of their evaluation. */
  readonly budget: RequestBudget;
  /** Threads for long evaluations; null for this thread. */
  readonly threads: FormulaThreads | null;
  /** Owner of the work on threads: no owner gets all of them. */
  readonly owner: string;
  /** Aborted when the client disconnects. */
  readonly signal: () => AbortSignal;
}

/** As much of a call as a statement needs. */
interface StatementCall {
  readonly request: CatalogRequest;
  readonly permit: Permit;
  readonly threads?: FormulaThreads | undefined;
}

export function statementOf({ request, permit, threads }: StatementCall): Statement {
  const { budget, signal } = request;
  return {
    now: momentNow(),
    budget,
    threads: threads ?? null,
    owner: permit.principal.subject,
    signal,
  };
}

/** A statement that no request waits for, under a budget or without bounds. */
export function ownStatement(budget: RequestBudget = unboundedBudget()): Statement {
  const signal = () => new AbortController().signal;
  return { now: momentNow(), budget, threads: null, owner: '', signal };
}
