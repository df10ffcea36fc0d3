import { analyzePlan } from '../query/analyze.ts';
import { rowsAnswer } from '../query/answer.ts';
import { attended } from '../query/attended.ts';
import { countRows } from '../query/count.ts';
import { execute } from '../query/execute.ts';
import { planQuery } from '../query/plan.ts';
import { ownStatement } from '../query/statement.ts';
import type { RequestBudget } from '../../protocol/budget.ts';
import type { BatchSource } from '../table/fragment-reader.ts';
import { inChunks } from './chunks.ts';
import { evaluated } from './formula-task.ts';
import { snapshotOf } from './snapshot-message.ts';
import { indexSteps } from './index-steps.ts';
import type { Task } from './task.ts';

type Chunks = AsyncGenerator<Uint8Array<ArrayBuffer>>;
type Run<Kind extends Task['kind']> = (
  task: Extract<Task, { readonly kind: Kind }>,
  source: BatchSource,
  use: TaskUse,
) => Chunks;

/** What a task may use, and what is aborted once nobody waits for it. */
export interface TaskUse {
  readonly signal: AbortSignal;
  readonly budget: RequestBudget;
}

/** How each kind of task is done: its result is a sequence of bytes. */
const runs: { readonly [Kind in Task['kind']]: Run<Kind> } = {
  query: async function* ({ request, snapshot: message }, source, { signal, budget }) {
    const snapshot = snapshotOf(message);
    const plan = planQuery(request, snapshot, ownStatement(budget));
    const { body } = await rowsAnswer({
      schema: plan.schema,
      batches: execute(plan, attended(source, signal)),
      version: snapshot.version,
      signal,
      giveBack: (memory) => source.giveBack?.(memory),
    });
    if (body !== null && typeof body !== 'string') yield* inChunks(body);
  },
  count: async function* ({ predicate, snapshot }, source, { signal, budget }) {
    const read = attended(source, signal);
    const statement = ownStatement(budget);
    const count = await countRows(read, snapshotOf(snapshot), predicate, statement);
    yield new TextEncoder().encode(String(count));
  },
  analyze: async function* ({ request, snapshot }, source, { signal, budget }) {
    const plan = planQuery(request, snapshotOf(snapshot), ownStatement(budget));
    yield new TextEncoder().encode(await analyzePlan(plan, attended(source, signal)));
  },
  formula: async function* ({ formula }, _, { budget }) {
    const statement = { ...ownStatement(budget), now: formula.now };
    yield* inChunks(evaluated(formula, statement));
  },
  index: async function* ({ index, snapshot: message }, source, { signal }) {
    const snapshot = snapshotOf(message);
    const [fragment] = snapshot.fragments;
    if (fragment === undefined) throw new Error('there is no fragment to index');
    const work = { source: attended(source, signal), snapshot, fragment, index };
    for await (const step of indexSteps(work, signal)) {
      yield new TextEncoder().encode(JSON.stringify(step));
    }
  },
};

/** Does a task. @throws CatalogError for a refusal. */
export function runTask(task: Task, source: BatchSource, use: TaskUse): Chunks {
  return runs[task.kind](task as never, source, use);
}
