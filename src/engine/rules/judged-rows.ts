import type { Field, RecordBatch } from 'apache-arrow';
import type { KeyRanges } from '../change/key-ranges.ts';
import { ownStatement, type Statement } from '../base/statement.ts';
import type { FragmentReader } from '../query/scan/fragment-reader.ts';
import { fragmentKey, type Fragment, type Snapshot } from '../format/snapshot.ts';

/** Fault of a fragment's rows; undefined if there is none. */
type RowFault = string | undefined;

/** Cached faults of immutable fragments: a recomputed change keeps most of them. */
export type KnownFaults = Map<string, RowFault>;

/** Keys of fragments. */
type Keys = ReadonlySet<string>;

/** Rows of a proposed version. */
export interface JudgedRows {
  readonly fields: readonly Field[];
  /** Budget of judging. */
  readonly statement: Statement;
  /** Live rows of some fragments. */
  batches(keys: Keys, columns: readonly string[]): AsyncGenerator<RecordBatch>;
  /** Live rows of all other fragments, but for those that cannot have one of the keys. */
  others(keys: Keys, columns: readonly string[], ranges: KeyRanges): AsyncGenerator<RecordBatch>;
  /** The first fault of the batches of some fragments. @param demand Identifies the judge. */
  firstFault(
    demand: string,
    keys: Keys,
    columns: readonly string[],
    judge: (batch: RecordBatch) => Promise<RowFault>,
  ): Promise<RowFault>;
  close(): Promise<void>;
}

/** Rows that the engine keeps. */
export class OwnJudgedRows implements JudgedRows {
  readonly statement: Statement;
  readonly #snapshot: Snapshot;
  readonly #reader: FragmentReader;
  readonly #faults: KnownFaults;

  constructor(
    snapshot: Snapshot,
    reader: FragmentReader,
    faults: KnownFaults,
    statement: Statement = ownStatement(),
  ) {
    this.statement = statement;
    this.#snapshot = snapshot;
    this.#reader = reader;
    this.#faults = faults;
  }

  get fields(): readonly Field[] {
    return this.#snapshot.schema.fields;
  }

  async *batches(keys: Keys, columns: readonly string[]): AsyncGenerator<RecordBatch> {
    for (const fragment of this.#fragments(keys)) yield* this.#batches(fragment, columns);
  }

  async *others(
    keys: Keys,
    columns: readonly string[],
    ranges: KeyRanges,
  ): AsyncGenerator<RecordBatch> {
    const { fragments } = this.#snapshot;
    const old = fragments.filter((one) => !keys.has(fragmentKey(one)));
    const files = old.map((fragment) => ({ fragment, offset: 0 }));
    const found = ranges.filesWithMatches(this.#snapshot, files);
    for (const fragment of new Set(found.map((file) => file.fragment)))
      yield* this.#batches(fragment, columns);
  }

  /** Each fragment is judged once, even if the version is recomputed. */
  async firstFault(
    demand: string,
    keys: Keys,
    columns: readonly string[],
    judge: (batch: RecordBatch) => Promise<RowFault>,
  ): Promise<RowFault> {
    for (const fragment of this.#fragments(keys)) {
      const key = `${demand}\n${partOf(fragment)}`;
      if (!this.#faults.has(key)) {
        this.#faults.set(key, await firstFaultOf(this.#batches(fragment, columns), judge));
      }
      const fault = this.#faults.get(key);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  close(): Promise<void> {
    return this.#reader.close();
  }

  #fragments(keys: Keys): readonly Fragment[] {
    return this.#snapshot.fragments.filter((one) => keys.has(fragmentKey(one)));
  }

  async *#batches(fragment: Fragment, columns: readonly string[]): AsyncGenerator<RecordBatch> {
    const found = this.#reader.batches(this.#snapshot, fragment, columns);
    for await (const { batch, release } of found) {
      yield batch;
      release?.();
    }
  }
}

/** The first fault that a judge finds. */
export async function firstFaultOf(
  batches: AsyncIterable<RecordBatch>,
  judge: (batch: RecordBatch) => Promise<RowFault>,
): Promise<RowFault> {
  for await (const batch of batches) {
    const found = await judge(batch);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Identifies the rows of a fragment and their values. */
function partOf(fragment: Fragment): string {
  const files = fragment.files.map(({ path, fields }) => `${path}:${fields.join()}`);
  return [fragmentKey(fragment), ...files, fragment.deletions ?? ''].join(' ');
}
