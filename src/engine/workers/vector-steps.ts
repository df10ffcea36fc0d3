import { setTimeout as sleep } from 'node:timers/promises';
import { indexVectors, type VectorWork } from '../vector-index/code-builder.ts';
import type { FragmentIndex } from '../table/snapshot.ts';
import type { VectorStep } from './task.ts';

/** So often it is told how many rows are done. */
const TELL_MILLIS = 100;

/** Indexes vectors until the signal, and tells how far it has come; leaving early ends the work, too. */
export async function* vectorSteps(
  work: Omit<VectorWork, 'onRows'>,
  signal: AbortSignal,
): AsyncGenerator<VectorStep> {
  let rows = 0;
  let left = false;
  const onRows = (more: number): void => {
    signal.throwIfAborted();
    if (left) throw new Error('nobody waits for the index any more');
    rows += more;
  };
  const indexing: Promise<FragmentIndex> = indexVectors({ ...work, onRows });
  const ended = indexing.then(
    () => true,
    () => true,
  );
  try {
    while (!(await Promise.race([ended, sleep(TELL_MILLIS, false)]))) {
      const step = { rows };
      rows = 0;
      yield step;
    }
    const file = await indexing;
    yield { rows };
    yield { file };
  } finally {
    left = true;
    await ended;
  }
}
