import type { Contents } from '../table/change.ts';
import type { BatchSource } from '../table/fragment-reader.ts';
import { columnKey, uncovered } from '../table/index-upkeep.ts';
import type { FragmentIndex, IndexDefinition, Snapshot } from '../table/snapshot.ts';
import { indexVectors, type VectorIndexer } from '../vector-index/code-builder.ts';
import { isVectorIndex } from '../vector-index/vector-kind.ts';
import { indexFragment } from './index-builder.ts';

/** The files that are written for one index, and of which fragments they are. */
export class IndexFiles {
  readonly index: IndexDefinition;
  readonly #source: BatchSource;
  readonly #vectors: VectorIndexer;
  readonly #files = new Map<string, FragmentIndex>();

  /** @param vectors What makes the codes of vectors. */
  constructor(source: BatchSource, index: IndexDefinition, vectors: VectorIndexer = indexVectors) {
    this.#vectors = vectors;
    this.#source = source;
    this.index = index;
  }

  /** By what names a column of a fragment. */
  get files(): ReadonlyMap<string, FragmentIndex> {
    return this.#files;
  }

  /**
   * Writes a file for each fragment of a version that has none.
   * @param onRows Told of how many rows were read since; what it throws ends the work.
   */
  async cover(snapshot: Snapshot, onRows: (rows: number) => void): Promise<void> {
    for (const fragment of uncovered(snapshot, this.index)) {
      const key = columnKey(fragment, this.index.field);
      if (this.#files.has(key)) continue;
      const { index } = this;
      const work = { source: this.#source, snapshot, fragment, index, onRows };
      const file = isVectorIndex(index)
        ? await this.#vectors({ ...work, index })
        : await indexFragment(work);
      this.#files.set(key, file);
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
