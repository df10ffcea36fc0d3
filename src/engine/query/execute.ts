import type { RecordBatch } from 'apache-arrow';
import type { RequestBudget } from '../../protocol/budget.ts';
import { andThen, type MaybePromise } from '../../protocol/maybe-promise.ts';
import type { BatchSource } from './scan/batch-source.ts';
import { lookedUpRows } from './rows/looked-up-rows.ts';
import { noMeters, type Meters } from './scan/meters.ts';
import type { QueryPlan } from './plan/plan.ts';
import { project } from './scan/projection.ts';
import { scanRows } from './rows/selected-rows.ts';
import { Scanner } from './scan/scan.ts';
import { searchRows } from './search/search-rows.ts';
import { sortRows } from './rows/sort-rows.ts';
import { textRows } from './search/text-rows.ts';

/**
 * Runs a plan. Batches come as they are found, each with the schema of the
 * answer; memory is bounded by the batch, and for a search by the rows it keeps.
 * @param meters Measure each step.
 * @throws CatalogError InvalidInput when an expression fails on a row.
 */
export async function* execute(
  plan: QueryPlan,
  source: BatchSource,
  meters: Meters = noMeters,
): AsyncGenerator<RecordBatch> {
  const run = new PlanRun(plan, source);
  const few = meters === noMeters ? await run.few() : null;
  if (few === null) yield* run.batches(meters);
  else yield* few;
}

/** A plan that runs. */
export class PlanRun {
  readonly #plan: QueryPlan;
  readonly #source: BatchSource;
  readonly #scanner: Scanner;

  constructor(plan: QueryPlan, source: BatchSource) {
    this.#plan = plan;
    this.#source = source;
    this.#scanner = new Scanner(source, plan.snapshot);
  }

  /** All rows if an index finds them and they are few; null if `batches` has to find them. */
  few(): MaybePromise<readonly RecordBatch[] | null> {
    const plan = this.#plan;
    return andThen(lookedUpRows(plan, this.#scanner), (found) => {
      if (found === null) return null;
      const { budget } = plan.statement;
      const before = budget.held;
      const project = (rows: RecordBatch) => projectRows(plan, rows);
      try {
        return budget.run(() => found.map(project));
      } finally {
        budget.release(budget.held - before);
      }
    });
  }

  /** The rows, as they are found. */
  batches(meters: Meters = noMeters): AsyncGenerator<RecordBatch> {
    return projectedRows(this.#plan, this.#source, this.#scanner, meters);
  }
}

function projectRows({ projections, schema }: QueryPlan, rows: RecordBatch): RecordBatch {
  return project(projections, schema, rows);
}

async function* projectedRows(
  plan: QueryPlan,
  source: BatchSource,
  scanner: Scanner,
  meters: Meters,
): AsyncGenerator<RecordBatch> {
  const { budget } = plan.statement;
  const counted = underBudget(meters, budget);
  for await (const rows of rowsOf(plan, source, scanner, counted)) {
    const count = rows.numRows;
    meters.passed('project', { rowsIn: count, rowsOut: count, batches: 1 });
    const before = budget.held;
    const projected = counted.timed('project', () => projectRows(plan, rows));
    const made = budget.held - before;
    try {
      yield projected;
    } finally {
      budget.release(made);
    }
  }
}

/** Meters that count the work of each step as processor time. */
function underBudget(meters: Meters, budget: RequestBudget): Meters {
  return {
    timed: (step, work) => meters.timed(step, () => budget.run(work)),
    awaited: (step, result) => meters.awaited(step, result),
    passed: (step, passed) => meters.passed(step, passed),
  };
}

function rowsOf(
  plan: QueryPlan,
  source: BatchSource,
  scanner: Scanner,
  meters: Meters,
): AsyncGenerator<RecordBatch> {
  if (plan.text !== null) return textRows(plan, plan.text, source, scanner, meters);
  if (plan.nearest !== null) return searchRows(plan, plan.nearest, scanner, meters);
  if (plan.sort !== null) return sortRows(plan, plan.sort, scanner, meters);
  return scanRows(plan, scanner, meters);
}
