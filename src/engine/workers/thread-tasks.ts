import { rowsAnswer } from '../query/answer.ts';
import { attended } from '../query/attended.ts';
import { countRows } from '../query/count.ts';
import { execute } from '../query/execute.ts';
import { planQuery } from '../query/plan.ts';
import type { BatchSource } from '../table/fragment-reader.ts';
import { inChunks } from './chunks.ts';
import { snapshotOf } from './snapshot-message.ts';
import { indexSteps } from './index-steps.ts';
import type { Task } from './task.ts';

type Chunks = AsyncGenerator<Uint8Array<ArrayBuffer>>;
type Run<Kind extends Task['kind']> = (
  task: Extract<Task, { readonly kind: Kind }>,
  source: BatchSource,
  signal: AbortSignal,
) => Chunks;

/** How each kind of task is done: its result is a sequence of bytes. */
const runs: { readonly [Kind in Task['kind']]: Run<Kind> } = {
  query: async function* ({ request, snapshot: message }, source, signal) {
    const snapshot = snapshotOf(message);
    const plan = planQuery(request, snapshot);
    const { body } = await rowsAnswer({
      schema: plan.schema,
      batches: execute(plan, attended(source, signal)),
      version: snapshot.version,
      signal,
      giveBack: (memory) => source.giveBack?.(memory),
    });
    if (body !== null && typeof body !== 'string') yield* inChunks(body);
  },
  count: async function* ({ predicate, snapshot }, source, signal) {
    const count = await countRows(attended(source, signal), snapshotOf(snapshot), predicate);
    yield new TextEncoder().encode(String(count));
  },
  index: async function* ({ index, snapshot: message }, source, signal) {
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
export function runTask(task: Task, source: BatchSource, signal: AbortSignal): Chunks {
  return runs[task.kind](task as never, source, signal);
}
