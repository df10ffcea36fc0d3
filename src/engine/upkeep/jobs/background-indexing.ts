import { CatalogError } from '../../../protocol/errors.ts';
import type { Store } from '../../../store/store.ts';
import { runToMerge } from '../../change/small-runs.ts';
import { IndexFiles, type FragmentIndexer } from '../../indexing/index-files.ts';
import type { Running } from '../../versions/leases/running.ts';
import type { Contents } from '../../format/change.ts';
import type { FragmentReader } from '../../query/scan/fragment-reader.ts';
import { uncovered, withIndexFiles } from '../../index/keys/index-upkeep.ts';
import type { Fragment } from '../../format/snapshot.ts';
import type { Tables } from '../../versions/tables.ts';
import { currentTable, givenUp, type VersionLine } from './background-compaction.ts';
import type { OnFault } from './job-runner.ts';

export interface IndexingParts {
  readonly store: Store;
  readonly tables: Tables;
  readonly reader: FragmentReader;
  /** Writes index files. */
  readonly indexer: FragmentIndexer;
  /** Keeps the files of an index from being collected while they are made. */
  readonly running: Running;
  /** Delay between a version and the indexing of its rows, in ms. */
  readonly delayMillis?: number;
  /** Length of the shortest run of small fragments that is merged; null for none. */
  readonly fewest?: number | null | undefined;
}

const DELAY_MILLIS = 1000;
/** Retries of a commit that other commits invalidated; the next one triggers it again. */
const TRIES = 3;

/**
 * Has the indices of tables cover the rows that came since they were made, one table at
 * a time. Until then those rows are scanned: nobody waits for this, and no answer depends on it.
 */
export class BackgroundIndexing {
  readonly #parts: IndexingParts;
  readonly #waiting = new Map<string, VersionLine>();
  #onFault: OnFault = () => undefined;
  #begun = false;
  #stopping = false;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;

  constructor(parts: IndexingParts) {
    this.#parts = parts;
  }

  /** Begins to index. Errors are reported and have no other effect. */
  start(onFault: OnFault): void {
    this.#onFault = onFault;
    this.#begun = true;
  }

  /** Looks at the newest version of a table. Does nothing before `start`. */
  notice(line: VersionLine, contents: Indexed): void {
    if (!this.#begun || this.#stopping || !this.#hasTail(contents)) return;
    this.#waiting.set(`${line.table.content.id}/${line.chain.key}`, line);
    this.#wait();
  }

  /** Indexes no more. What is being written is given up. */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#timer);
    await this.#working;
  }

  #wait(): void {
    if (this.#stopping || this.#timer !== undefined || this.#working !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#working = this.#work().finally(() => {
        this.#working = undefined;
        if (this.#waiting.size > 0) this.#wait();
      });
    }, this.#parts.delayMillis ?? DELAY_MILLIS);
    this.#timer.unref();
  }

  async #work(): Promise<void> {
    const lines = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const line of lines) {
      if (this.#stopping) return;
      await this.#parts.running
        .during(() => this.#index(line))
        .catch((error: unknown) => this.#onFault(error));
    }
  }

  async #index(line: VersionLine): Promise<void> {
    const { tables } = this.#parts;
    let fault: unknown;
    for (let tries = 0; tries < TRIES && !this.#stopping; tries++) {
      try {
        const snapshot = await tables.snapshot(line.table.content, undefined, line.chain);
        if (!this.#hasTail(snapshot)) return;
        await currentTable(this.#parts.store, line.table);
        const { indices = [] } = snapshot;
        const { reader, indexer } = this.#parts;
        const all = indices.map((index) => new IndexFiles(reader, index, indexer));
        await this.#cover(line, all);
        return;
      } catch (error) {
        fault = error;
      }
    }
    if (fault !== undefined && !(fault instanceof CatalogError)) throw fault;
  }

  async #cover(line: VersionLine, all: readonly IndexFiles[]): Promise<void> {
    const { tables } = this.#parts;
    const { table, chain } = line;
    const unnamed = (contents: Pick<Contents, 'fragments'>) =>
      all.flatMap((files) => files.unnamedBy(contents));
    let submitted = false;
    try {
      const snapshot = await tables.snapshot(table.content, undefined, chain);
      const lasting = { ...snapshot, fragments: this.#lasting(snapshot) };
      for (const files of all) await files.cover(lasting, () => this.#checkRunning());
      const { manifest } = await tables.commit({
        table,
        chain,
        current: () => currentTable(this.#parts.store, table),
        change: (base) => covered(base, all),
        writes: () => {
          submitted = true;
          return [];
        },
      });
      await tables.discard(table.content, unnamed(manifest));
    } catch (error) {
      // If the commit may have happened, a version may name the files.
      if (!submitted) await tables.discard(table.content, unnamed({ fragments: [] }));
      throw error;
    }
  }

  /** Whether an index does not cover all rows that it is to cover. */
  #hasTail(contents: Indexed): boolean {
    const { indices = [] } = contents;
    if (indices.length === 0) return false;
    const fragments = this.#lasting(contents);
    return indices.some((index) => uncovered({ fragments }, index).length > 0);
  }

  /** Rows that are about to be merged wait for that: the merge makes a version, which is looked at in its turn. */
  #lasting({ fragments }: Pick<Contents, 'fragments'>): readonly Fragment[] {
    const run = new Set(runToMerge(fragments, this.#parts.fewest));
    return run.size === 0 ? fragments : fragments.filter((fragment) => !run.has(fragment));
  }

  #checkRunning(): void {
    if (this.#stopping) throw givenUp('the service stops');
  }
}

/** The parts of a version on which index coverage depends. */
type Indexed = Pick<Contents, 'indices' | 'fragments'>;

/** A version whose indices cover what was written; those that were dropped or made again meanwhile do not. */
function covered(base: Contents, all: readonly IndexFiles[]): Contents {
  const live = all.filter(({ index }) =>
    (base.indices ?? []).some(({ uuid, field }) => uuid === index.uuid && field === index.field),
  );
  const next = live.reduce(
    (contents, { index, files }) => withIndexFiles(contents, index, files),
    base,
  );
  const isMore = next.fragments.some((fragment, at) => fragment !== base.fragments[at]);
  if (!isMore) throw givenUp('nothing is left to be indexed');
  return next;
}
