import type { BatchSource, FragmentBatch, IndexSource } from './scan/batch-source.ts';
import { execute } from './execute.ts';
import { planSteps, stepsText, type PlanStep } from './rows/explain.ts';
import { CountingMeters, type StepCounts, type StepName } from './scan/meters.ts';
import type { QueryPlan } from './plan/plan.ts';

/**
 * Runs a plan to its end and answers it as text with what each step did: rows
 * that came and went, batches and bytes it read or answered, and its time. Steps
 * that work at the same time each count the time that they take.
 */
export async function analyzePlan(plan: QueryPlan, source: BatchSource): Promise<string> {
  const meters = new CountingMeters();
  for await (const batch of execute(plan, measured(source, meters), meters)) {
    meters.passed('project', { bytes: batch.data.byteLength });
  }
  meters.passed('scan', { rowsIn: Number(plan.snapshot.rows) });
  return stepsText(
    planSteps(plan).map((step) => withCounts(step, meters.of(step.measure))),
    true,
  );
}

function withCounts(step: PlanStep, counts: StepCounts): PlanStep {
  const { rowsIn, rowsOut, batches, bytes, millis } = counts;
  const measurements = [
    `${rowsIn} rows in`,
    `${rowsOut} rows out`,
    batches === 1 ? '1 batch' : `${batches} batches`,
    `${bytes} bytes`,
    `${millis.toFixed(1)} ms`,
  ];
  return { ...step, text: `${step.text} [${measurements.join(', ')}]` };
}

/**
 * Measures a source: batches of scans count for the scan, batches read by position for the later
 * reads.
 */
function measured(source: BatchSource, meters: CountingMeters): BatchSource {
  const count = (step: StepName, { batch }: FragmentBatch) => {
    const bytes = batch.data.byteLength;
    const rows = batch.numRows;
    meters.passed(step, { rowsOut: rows, batches: 1, bytes });
    if (step === 'read') meters.passed(step, { rowsIn: rows });
  };
  return {
    async *batches(...args) {
      const batches = source.batches(...args);
      try {
        for (;;) {
          const next = await meters.awaited('scan', batches.next());
          if (next.done === true) return;
          count('scan', next.value);
          yield next.value;
        }
      } finally {
        await batches.return(undefined);
      }
    },
    async batch(...args) {
      const found = await meters.awaited('read', source.batch(...args));
      count('read', found);
      return found;
    },
    vectors: source.vectors,
    ...(source.indices && { indices: measuredIndices(source.indices, meters) }),
    ...(source.texts && { texts: source.texts }),
    giveBack: (memory) => source.giveBack?.(memory),
  };
}

/** Measures an index source: lookups count for the index step, rows for the reads. */
function measuredIndices(indices: IndexSource, meters: CountingMeters): IndexSource {
  return {
    async candidates(...args) {
      const found = await meters.awaited('index', Promise.resolve(indices.candidates(...args)));
      const [, fragment] = args;
      const rowsIn = fragment.rows;
      meters.passed('index', { rowsIn, rowsOut: found?.count ?? rowsIn, batches: 1 });
      return found;
    },
    async rows(...args) {
      const found = await meters.awaited('read', Promise.resolve(indices.rows(...args)));
      const { numRows: rows, data } = found.batch;
      meters.passed('read', { rowsIn: rows, rowsOut: rows, batches: 1, bytes: data.byteLength });
      return found;
    },
  };
}
