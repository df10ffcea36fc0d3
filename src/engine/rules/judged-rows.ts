import type { RecordBatch } from 'apache-arrow';
import { ownStatement, type Statement } from '../base/statement.ts';
import type { FragmentReader } from '../query/scan/fragment-reader.ts';
import { fragmentKey, type Fragment, type Snapshot } from '../format/snapshot.ts';

/** Fault of a fragment's rows; undefined if there is none. */
type RowFault = string | undefined;

/** Cached faults of immutable fragments: a recomputed change keeps most of them. */
export type KnownFaults = Map<string, RowFault>;

/** Rows of a proposed version. */
export class JudgedRows {
  readonly snapshot: Snapshot;
  /** Budget of judging. */
  readonly statement: Statement;
  readonly #reader: FragmentReader;
  readonly #faults: KnownFaults;

  constructor(
    snapshot: Snapshot,
    reader: FragmentReader,
    faults: KnownFaults,
    statement: Statement = ownStatement(),
  ) {
    this.statement = statement;
    this.snapshot = snapshot;
    this.#reader = reader;
    this.#faults = faults;
  }

  /** Live rows of a fragment, batch by batch. */
  async *batches(fragment: Fragment, columns: readonly string[]): AsyncGenerator<RecordBatch> {
    for await (const { batch, release } of this.#reader.batches(this.snapshot, fragment, columns)) {
      yield batch;
      release?.();
    }
  }

  /** Judges a fragment once, even if the version is recomputed. */
  async once(
    demand: string,
    fragment: Fragment,
    judge: () => Promise<RowFault>,
  ): Promise<RowFault> {
    const key = `${demand}\n${partOf(fragment)}`;
    if (!this.#faults.has(key)) this.#faults.set(key, await judge());
    return this.#faults.get(key);
  }
}

/** Identifies the rows of a fragment and their values. */
function partOf(fragment: Fragment): string {
  const files = fragment.files.map(({ path, fields }) => `${path}:${fields.join()}`);
  return [fragmentKey(fragment), ...files, fragment.deletions ?? ''].join(' ');
}
