import { setTimeout as sleep } from 'node:timers/promises';
import { indexHere } from '../index/fragment-indexer.ts';
import type { IndexWork } from '../index/index-builder.ts';
import type { IndexStep } from './task.ts';

/** So often it is told how many rows are done. */
const TELL_MILLIS = 100;

/** Indexes a fragment until the signal, and tells how far it has come; leaving early ends the work, too. */
export async function* indexSteps(
  work: Omit<IndexWork, 'onRows'>,
  signal: AbortSignal,
): AsyncGenerator<IndexStep> {
  let rows = 0;
  let left = false;
  const onRows = (more: number): void => {
    signal.throwIfAborted();
    if (left) throw new Error('nobody waits for the index any more');
    rows += more;
  };
  const indexing = indexHere({ ...work, onRows });
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
