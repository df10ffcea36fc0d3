import type { Contents } from '../table/change.ts';
import type { BatchSource } from '../table/fragment-reader.ts';
import { columnKey, uncovered } from '../table/index-upkeep.ts';
import type { FragmentIndex, IndexDefinition, Snapshot } from '../table/snapshot.ts';
import type { FragmentIndexer } from './fragment-indexer.ts';

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
   * @param onRows Told of how many rows were read since; what it throws ends the work.
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
