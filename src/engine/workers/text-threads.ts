import type { IndexWork } from '../index/index-builder.ts';
import { bytesOf, type FragmentIndex } from '../table/snapshot.ts';
import { indexTexts } from '../text/text-fragment-builder.ts';
import { snapshotMessage } from './snapshot-message.ts';
import type { TextStep } from './task.ts';
import type { ThreadPool } from './thread-pool.ts';

/** A fragment of so many bytes is indexed sooner than a thread has begun. */
const LIGHT_BYTES = 2 ** 22;

/** Builds text indices on threads, which cutting texts into words would keep busy for long. */
export class TextThreads {
  readonly #pool: ThreadPool;

  constructor(pool: ThreadPool) {
    this.#pool = pool;
  }

  /** Writes what an index knows of one fragment; the file is on stable storage when this returns. */
  async index(work: IndexWork): Promise<FragmentIndex> {
    const isHeavy = this.#pool.size > 0 && bytesOf(work.fragment) > LIGHT_BYTES;
    return isHeavy ? this.#onThread(work) : indexHere(work);
  }

  async #onThread({ snapshot, fragment, index, onRows }: IndexWork): Promise<FragmentIndex> {
    const message = snapshotMessage({ ...snapshot, fragments: [fragment] });
    const task = { kind: 'texts', snapshot: message, index } as const;
    let file: FragmentIndex | undefined;
    for await (const bytes of await this.#pool.run(task, new AbortController().signal)) {
      const step = JSON.parse(new TextDecoder().decode(bytes)) as TextStep;
      if ('file' in step) file = step.file;
      else onRows(step.rows);
    }
    if (file !== undefined) return file;
    throw new Error('a thread has indexed texts and named no file');
  }
}

/** The same on this thread, which gives others their turn now and then. */
export async function indexHere(work: IndexWork): Promise<FragmentIndex> {
  const steps = indexTexts(work);
  try {
    for (;;) {
      const step = await steps.next();
      if (step.done === true) return step.value;
      work.onRows(step.value);
    }
  } catch (error) {
    await steps.throw(error);
    throw error;
  }
}
