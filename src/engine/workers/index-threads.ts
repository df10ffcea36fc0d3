import type { FragmentIndexer } from '../index/fragment-indexer.ts';
import { indexHere } from '../index/fragment-indexer.ts';
import type { IndexWork } from '../index/index-builder.ts';
import { bytesOf, type FragmentIndex } from '../table/snapshot.ts';
import { defaultTextOptions, piecesOfCharacter } from '../text/text-options.ts';
import { snapshotMessage } from './snapshot-message.ts';
import type { IndexStep } from './task.ts';
import type { ThreadPool } from './thread-pool.ts';

/** A fragment of so many bytes is indexed sooner than a thread has begun. */
const LIGHT_BYTES = 2 ** 22;

/** Indexes fragments on threads, where there are some and it takes long: keys are sorted in one go, whatever waits. */
export function indexerOn(pool: ThreadPool): FragmentIndexer {
  return (work) => {
    const { fragment, index } = work;
    const pieces = piecesOfCharacter(index.text ?? defaultTextOptions);
    const isMuch = bytesOf(fragment) * pieces > LIGHT_BYTES;
    return pool.size > 0 && isMuch ? onThread(pool, work) : indexHere(work);
  };
}

async function onThread(
  pool: ThreadPool,
  { snapshot, fragment, index, onRows }: IndexWork,
): Promise<FragmentIndex> {
  const message = snapshotMessage({ ...snapshot, fragments: [fragment] });
  const task = { kind: 'index', snapshot: message, index } as const;
  let file: FragmentIndex | undefined;
  // Whoever stops taking what the thread tells stops the thread's work.
  for await (const bytes of await pool.run(task, new AbortController().signal, {
    owner: 'index',
  })) {
    const step = JSON.parse(new TextDecoder().decode(bytes)) as IndexStep;
    if ('file' in step) file = step.file;
    else onRows(step.rows);
  }
  if (file !== undefined) return file;
  throw new Error('a thread has indexed a fragment and named no file');
}
