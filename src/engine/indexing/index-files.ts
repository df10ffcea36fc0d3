import type { Contents } from '../format/change.ts';
import type { BatchSource } from '../query/scan/fragment-reader.ts';
import { columnKey, uncovered } from '../index/keys/index-upkeep.ts';
import type { FragmentIndex, IndexDefinition, Snapshot } from '../format/snapshot.ts';
import { indexTexts } from './text-fragment-builder.ts';
import { indexVectors } from './code-builder.ts';
import { isVectorIndex } from '../index/vectors/vector-kind.ts';
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

/** The files that are written for one index, and of which fragments they are. */
export class IndexFiles {
  readonly index: IndexDefinition;
  readonly #source: BatchSource;
  readonly #indexer: FragmentIndexer;
  readonly #files = new Map<string, FragmentIndex>();

  constructor(source: BatchSource, index: IndexDefinition, indexer: FragmentIndexer) {
    this.#source = source;
    this.#indexer = indexer;
    this.index = index;
  }

  /** By what names a column of a fragment. */
  get files(): ReadonlyMap<string, FragmentIndex> {
    return this.#files;
  }

  /**
   * Writes a file for each fragment of a version that has none.
   * @param onRows Called with how many rows were read since; what it throws ends the work.
   */
  async cover(snapshot: Snapshot, onRows: (rows: number) => void): Promise<void> {
    for (const fragment of uncovered(snapshot, this.index)) {
      const key = columnKey(fragment, this.index.field);
      if (this.#files.has(key)) continue;
      const { index } = this;
      const work = { source: this.#source, snapshot, fragment, index, onRows };
      this.#files.set(key, await this.#indexer(work));
    }
  }

  /** The files that a version does not name. */
  unnamedBy({ fragments }: Pick<Contents, 'fragments'>): readonly { readonly file: string }[] {
    const named = new Set(fragments.flatMap(({ indices = [] }) => indices.map(({ path }) => path)));
    return [...this.#files.values()]
      .filter(({ path }) => !named.has(path))
      .map(({ path }) => ({ file: path }));
  }
}
