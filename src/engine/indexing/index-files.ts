import type { Contents } from '../format/change.ts';
import type { BatchSource } from '../query/scan/batch-source.ts';
import { columnKey, uncovered } from '../index/keys/index-upkeep.ts';
import type { FragmentIndex, IndexDefinition, Snapshot } from '../format/snapshot.ts';
import { indexTexts } from './text-fragment-builder.ts';
import { indexVectors } from './code-builder.ts';
import { isVectorIndex } from '../index/vectors/vector-kind.ts';
import { indexFragment, type IndexWork } from './index-builder.ts';

/**
 * Writes the file of an index of any kind for one fragment. The file is durable when this returns
 * and removed if it throws.
 */
export type FragmentIndexer = (work: IndexWork) => Promise<FragmentIndex>;

/** Indexes in this thread and yields to other requests now and then. */
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

/** The files written for one index, by fragment. */
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

  /** Files by `columnKey`. */
  get files(): ReadonlyMap<string, FragmentIndex> {
    return this.#files;
  }

  /**
   * Writes a file for each uncovered fragment of a version.
   * @param onRows Called with the number of rows read since; its errors stop the work.
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

  /** Files that are not named by a version. */
  unnamedBy({ fragments }: Pick<Contents, 'fragments'>): readonly { readonly file: string }[] {
    const named = new Set(fragments.flatMap(({ indices = [] }) => indices.map(({ path }) => path)));
    return [...this.#files.values()]
      .filter(({ path }) => !named.has(path))
      .map(({ path }) => ({ file: path }));
  }
}
