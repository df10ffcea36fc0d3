import type { RecordBatch } from 'apache-arrow';
import { ownStatement, type Statement } from '../base/statement.ts';
import type { FragmentReader } from '../query/scan/fragment-reader.ts';
import { fragmentKey, type Fragment, type Snapshot } from '../format/snapshot.ts';

/** What judging the rows of a fragment came to: undefined for nothing that is wrong. */
type RowFault = string | undefined;

/** Verdicts on fragments that cannot change: a change that is computed again has most of them still. */
export type KnownFaults = Map<string, RowFault>;

/** The rows of a version that is not there yet. */
export class JudgedRows {
  readonly snapshot: Snapshot;
  /** What judging them may use. */
  readonly statement: Statement;
  readonly #reader: FragmentReader;
  readonly #known: KnownFaults;

  constructor(
    snapshot: Snapshot,
    reader: FragmentReader,
    known: KnownFaults,
    statement: Statement = ownStatement(),
  ) {
    this.statement = statement;
    this.snapshot = snapshot;
    this.#reader = reader;
    this.#known = known;
  }

  /** The rows of a fragment that are not deleted, batch by batch. */
  async *batches(fragment: Fragment, columns: readonly string[]): AsyncGenerator<RecordBatch> {
    for await (const { batch, release } of this.#reader.batches(this.snapshot, fragment, columns)) {
      yield batch;
      release?.();
    }
  }

  /** Judges a fragment once, however often the version is computed. */
  async once(
    demand: string,
    fragment: Fragment,
    judge: () => Promise<RowFault>,
  ): Promise<RowFault> {
    const key = `${demand}\n${partOf(fragment)}`;
    if (!this.#known.has(key)) this.#known.set(key, await judge());
    return this.#known.get(key);
  }
}

/** What names the rows of a fragment and their values for good. */
function partOf(fragment: Fragment): string {
  const files = fragment.files.map(({ path, fields }) => `${path}:${fields.join()}`);
  return [fragmentKey(fragment), ...files, fragment.deletions ?? ''].join(' ');
}
