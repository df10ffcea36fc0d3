import type { FragmentIndex } from '../table/snapshot.ts';
import { indexTexts } from '../text/text-fragment-builder.ts';
import { indexVectors } from '../vector-index/code-builder.ts';
import { isVectorIndex } from '../vector-index/vector-kind.ts';
import { indexFragment, type IndexWork } from './index-builder.ts';

/**
 * Writes what an index of any kind knows of one fragment. The file is on stable storage
 * when this returns, and nothing is left of it when it throws.
 */
export type FragmentIndexer = (work: IndexWork) => Promise<FragmentIndex>;

/** Does the work here, and gives others their turn now and then. */
export const indexHere: FragmentIndexer = (work) => {
  const { index } = work;
  if (isVectorIndex(index)) return indexVectors({ ...work, index });
  return index.type === 'FTS' ? textsHere(work) : indexFragment(work);
};

async function textsHere(work: IndexWork): Promise<FragmentIndex> {
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
