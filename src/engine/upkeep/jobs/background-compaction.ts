import { setImmediate } from 'node:timers/promises';
import type { ObjectPath } from '../../../protocol/identifier.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { Store } from '../../../store/store.ts';
import type { Stored, TableRecord } from '../../format/records.ts';
import { mergeRun } from '../../change/compaction.ts';
import { runToMerge } from '../../change/small-runs.ts';
import type { Running } from '../../versions/leases/running.ts';
import type { Chain } from '../../format/chain.ts';
import type { Contents } from '../../format/change.ts';
import type { FragmentReader } from '../../query/scan/fragment-reader.ts';
import type { Manifest } from '../../format/manifest.ts';
import { fragmentKey, type Fragment, type Snapshot } from '../../format/snapshot.ts';
import type { Tables } from '../../versions/tables.ts';
import type { OnFault } from './job-runner.ts';
import { pathOfKey } from '../../catalog/records/keys.ts';
import { decodeTable } from '../../catalog/records/records-codec.ts';

export interface CompactionParts {
  readonly store: Store;
  readonly tables: Tables;
  readonly reader: FragmentReader;
  /** Keeps the files of a merge from being collected while it is made. */
  readonly running: Running;
  /** Length of the shortest run of small fragments that is merged, 32 unless given; null for none. */
  readonly fewest?: number | null | undefined;
  /** Records merges in the audit log; without it they are in none. */
  readonly record?: RecordMerge | undefined;
}

/** A merge of adjacent small fragments. */
export interface Merge {
  readonly path: ObjectPath;
  readonly branch: string;
  /** Number of replaced fragments, and of their replacements. */
  readonly merged: number;
  readonly made: number;
}

/** Records a merge: calls the work once, and passes on its error. @param work Resolves to the new version. */
export type RecordMerge = (merge: Merge, work: () => Promise<bigint>) => Promise<void>;

/** A line of versions of a table. */
export interface VersionLine {
  readonly table: Stored<TableRecord>;
  readonly chain: Chain;
}

/** Retries of a merge that other commits invalidated; the next commit triggers it again. */
const TRIES = 3;

/**
 * Merges small fragments of tables in the background, one table at a time. Rows are
 * written while others continue reading and writing, and the merge takes effect only if
 * the fragments are still as they were: no writer ever waits for the rows.
 */
export class BackgroundCompaction {
  readonly #parts: CompactionParts;
  readonly #waiting = new Map<string, VersionLine>();
  #onFault: OnFault = () => undefined;
  #begun = false;
  #stopping = false;
  #working: Promise<void> | undefined;
  #noticed = 0;
  #merged = 0;

  constructor(parts: CompactionParts) {
    this.#parts = parts;
  }

  /** How many versions it has looked at. */
  get noticed(): number {
    return this.#noticed;
  }

  /** How many runs were merged. */
  get merged(): number {
    return this.#merged;
  }

  /** Begins to merge. Errors are reported and have no other effect. */
  start(onFault: OnFault): void {
    this.#onFault = onFault;
    this.#begun = true;
  }

  /** Looks at a version that a table got. Does nothing before `start`. */
  notice(line: VersionLine, { fragments }: Manifest): void {
    this.#noticed += 1;
    const run = runToMerge(fragments, this.#parts.fewest);
    if (!this.#begun || this.#stopping || run === undefined) return;
    this.#waiting.set(`${line.table.content.id}/${line.chain.key}`, line);
    this.#begin();
  }

  /** Merges no more. What is being written is given up. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#working;
  }

  #begin(): void {
    if (this.#waiting.size === 0 || this.#stopping) return;
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
      this.#begin();
    });
  }

  async #work(): Promise<void> {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      // The committer gets its answer first.
      await setImmediate();
      const { running } = this.#parts;
      await running
        .during(() => this.#compact(next))
        .catch((error: unknown) => this.#onFault(error));
    }
  }

  #next(): VersionLine | undefined {
    const [first] = this.#waiting;
    if (first === undefined || this.#stopping) return undefined;
    this.#waiting.delete(first[0]);
    return first[1];
  }

  async #compact(line: VersionLine): Promise<void> {
    const { tables } = this.#parts;
    const { table, chain } = line;
    let fault: unknown;
    for (let tries = 0; tries < TRIES && !this.#stopping;) {
      const snapshot = await tables.snapshot(table.content, undefined, chain);
      const run = runToMerge(snapshot.fragments, this.#parts.fewest);
      if (run === undefined) return;
      try {
        await this.#merge(line, snapshot, run);
        tries = 0;
        fault = undefined;
      } catch (error) {
        fault = error;
        tries++;
      }
    }
    if (fault !== undefined && !(fault instanceof CatalogError)) throw fault;
  }

  async #merge(
    { table, chain }: VersionLine,
    snapshot: Snapshot,
    run: readonly Fragment[],
  ): Promise<void> {
    const { tables, reader, record } = this.#parts;
    const written: string[] = [];
    const wrote = (files: readonly string[]) => void written.push(...files);
    const made = await mergeRun(reader, snapshot, run, wrote, () => this.#checkRunning());
    let submitted = false;
    const commit = async (): Promise<bigint> => {
      const { manifest } = await tables.commit({
        table,
        chain,
        current: () => currentTable(this.#parts.store, table),
        change: (base) => ({ ...base, fragments: replaced(base, run, made) }),
        writes: () => {
          submitted = true;
          return [];
        },
      });
      return manifest.version;
    };
    const { branch } = chain;
    const merge = { path: pathOfKey(table.key), branch, merged: run.length, made: made.length };
    try {
      await (record === undefined ? commit() : record(merge, commit));
      this.#merged += 1;
    } catch (error) {
      // If the commit may have happened, a version may name the files.
      if (!submitted) {
        await tables.discard(
          table.content,
          written.map((file) => ({ file })),
        );
      }
      throw error;
    }
  }

  #checkRunning(): void {
    if (this.#stopping) throw givenUp('the service stops');
  }
}

/** A version's fragments with others in the place of a run, which must be there as it was. */
function replaced(
  { fragments }: Contents,
  run: readonly Fragment[],
  made: readonly Fragment[],
): readonly Fragment[] {
  const start = fragments.findIndex((fragment) => fragmentKey(fragment) === keyOf(run));
  const there = start >= 0 && run.every((fragment, at) => isSame(fragment, fragments[start + at]));
  if (!there) throw givenUp('the fragments were changed');
  return [...fragments.slice(0, start), ...made, ...fragments.slice(start + run.length)];
}

function keyOf(run: readonly Fragment[]): string {
  return run[0] === undefined ? '' : fragmentKey(run[0]);
}

/** Files are never written twice under one name: the same names are the same rows. */
function isSame(one: Fragment, other: Fragment | undefined): boolean {
  return (
    other !== undefined &&
    one.deletions === other.deletions &&
    one.files.length === other.files.length &&
    one.files.every(({ path }, at) => path === other.files[at]?.path)
  );
}

/** Background work that is obsolete: the next version triggers it again. */
export function givenUp(why: string): CatalogError {
  return new CatalogError('ConcurrentModification', `work in the background was given up: ${why}`);
}

/**
 * The record of a table as it is now. A table that was renamed is left alone until
 * somebody writes it again.
 * @throws CatalogError ConcurrentModification when it is another table
 */
export async function currentTable(
  store: Store,
  { key, content }: Stored<TableRecord>,
): Promise<Stored<TableRecord>> {
  const value = await store.get(key);
  const current = value === undefined ? undefined : decodeTable(value);
  if (value === undefined || current?.id !== content.id) throw givenUp('the table is gone');
  return { key, value, content: current };
}
