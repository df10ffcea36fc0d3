import { indexVectors, type VectorIndexer, type VectorWork } from '../vector-index/code-builder.ts';
import { bytesOf, type FragmentIndex } from '../table/snapshot.ts';
import { snapshotMessage } from './snapshot-message.ts';
import type { VectorStep } from './task.ts';
import type { ThreadPool } from './thread-pool.ts';

/** A fragment of so many bytes is indexed sooner than a thread has begun. */
const LIGHT_BYTES = 2 ** 22;

/** Makes codes of vectors on threads, where there are some and it takes long. */
export function vectorsOnThreads(pool: ThreadPool): VectorIndexer {
  return (work) => {
    const isHeavy = pool.size > 0 && bytesOf(work.fragment) > LIGHT_BYTES;
    return isHeavy ? onThread(pool, work) : indexVectors(work);
  };
}

async function onThread(
  pool: ThreadPool,
  { snapshot, fragment, index, onRows }: VectorWork,
): Promise<FragmentIndex> {
  const message = snapshotMessage({ ...snapshot, fragments: [fragment] });
  const task = { kind: 'vectors', snapshot: message, index } as const;
  // Whoever stops taking what the thread tells stops the thread's work.
  for await (const bytes of await pool.run(task, new AbortController().signal)) {
    const step = JSON.parse(new TextDecoder().decode(bytes)) as VectorStep;
    if ('file' in step) return step.file;
    onRows(step.rows);
  }
  throw new Error('a thread has indexed vectors and named no file');
}
