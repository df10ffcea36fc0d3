import type { RecordBatch } from 'apache-arrow';
import type { BatchSource, FragmentBatch } from '../table/fragment-reader.ts';
import { execute } from './execute.ts';
import { planSteps, stepsText, type PlanStep } from './explain.ts';
import type { QueryPlan } from './plan.ts';

/** What passed a place of a plan while it ran. */
class Counter {
  #batches = 0;
  #rows = 0;
  #bytes = 0;
  #millis = 0;

  /** Waits for a batch and counts it and the time. */
  async count(next: Promise<RecordBatch | undefined>): Promise<void> {
    const start = performance.now();
    const batch = await next;
    this.#millis += performance.now() - start;
    if (batch === undefined) return;
    this.#batches += 1;
    this.#rows += batch.numRows;
    this.#bytes += batch.data.byteLength;
  }

  /** The counts in words. */
  toString(): string {
    const millis = this.#millis.toFixed(1);
    return `${this.#batches} batches, ${this.#rows} rows, ${this.#bytes} bytes, ${millis} ms`;
  }
}

/**
 * Runs a plan to its end and answers it as text with what each end of it saw:
 * what was read of the files, and what the last step answered. Times hold the
 * steps below.
 */
export async function analyzePlan(plan: QueryPlan, source: BatchSource): Promise<string> {
  const read = new Counter();
  const answered = new Counter();
  const batches = execute(plan, counted(source, read));
  for (;;) {
    const next = batches.next();
    await answered.count(next.then(({ value, done }) => (done === true ? undefined : value)));
    if ((await next).done === true) break;
  }
  const told: Readonly<Record<string, Counter>> = { Scan: read, Project: answered };
  return stepsText(
    planSteps(plan).map((step) => withCounts(step, told[step.name])),
    true,
  );
}

function withCounts(step: PlanStep, counter: Counter | undefined): PlanStep {
  return counter === undefined ? step : { ...step, text: `${step.text} [${counter.toString()}]` };
}

/** The same batches; each read is counted. */
function counted(source: BatchSource, counter: Counter): BatchSource {
  const measured = async (next: Promise<FragmentBatch>): Promise<FragmentBatch> => {
    await counter.count(next.then(({ batch }) => batch));
    return next;
  };
  return {
    async *batches(snapshot, fragment, columns) {
      const batches = source.batches(snapshot, fragment, columns);
      for (;;) {
        const next = batches.next();
        await counter.count(
          next.then(({ value, done }) => (done === true ? undefined : value.batch)),
        );
        const { value, done } = await next;
        if (done === true) return;
        yield value;
      }
    },
    batch: (snapshot, fragment, index, columns, rows) =>
      measured(source.batch(snapshot, fragment, index, columns, rows)),
  };
}
