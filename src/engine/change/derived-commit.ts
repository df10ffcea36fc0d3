import { Flushes } from '../../storage/flushes.ts';
import type { Write } from '../../store/store.ts';
import { tookNoEffect } from '../catalog/records/commit-loop.ts';
import type { Stored, TableRecord } from '../format/records.ts';
import { sealOf, type Seal } from '../catalog/records/seal.ts';
import { MAIN_CHAIN, type Chain } from '../format/chain.ts';
import type { ProposedVersion } from '../format/version-codec.ts';
import type { Fragment, Snapshot } from '../format/snapshot.ts';
import type { Tables } from '../versions/tables.ts';
import type { Committed } from '../versions/lines/version-commits.ts';
import { RowRemoval, type Wrote } from './row-removal.ts';
import { ROW_ID, ROW_OFFSET, withComputed } from '../request/computed-columns.ts';
import { predicateFormula } from '../request/formula.ts';
import { ownStatement } from '../base/statement.ts';
import type { FragmentReader } from '../query/scan/fragment-reader.ts';
import { physicalRows, RowFinder } from './row-finder.ts';
import { findVisible, storedRowsOf, type VisibleChange } from './visible-change.ts';

/** The contents of a table's next version, and the result to report. */
interface Derived<Result> {
  readonly fragments: readonly Fragment[];
  readonly nextRowId: bigint;
  readonly result: Result;
}

/**
 * Computes a table's next version from an earlier one; runs again if another writer commits first.
 * The commit waits for the flushes.
 */
export type Derive<Result> = (
  base: Snapshot,
  wrote: Wrote,
  flushes: Flushes,
) => Promise<Derived<Result>>;

/** A change that depends on the rows of a table. */
export interface DerivedCommit<Result> {
  readonly tables: Tables;
  readonly table: Stored<TableRecord>;
  /** The changed line; main if absent. */
  readonly chain?: Chain;
  /** Reads the current record of the table. */
  readonly current: () => Promise<Stored<TableRecord>>;
  readonly derive: Derive<Result>;
  /** Resolves when the change may be committed; absent if it may at once. */
  readonly recorded?: (() => Promise<void>) | undefined;
  /** Throws if the change must no longer be committed; called before each attempt. */
  readonly check?: () => void;
  /** Further writes of the commit, from the table's current record. */
  readonly writes?: ((current: Stored<TableRecord>) => readonly Write[]) | undefined;
  readonly seal?: Seal<DerivedOutcome<Result>> | undefined;
  /** Judges a version before its commit, given the result of the change. */
  readonly judge?: ((result: Result, proposed: ProposedVersion) => Promise<void>) | undefined;
}

/** Result of a change, and the number of its computations. */
export interface DerivedOutcome<Result> {
  readonly committed: Committed;
  readonly result: Result;
  readonly attempts: number;
}

/**
 * Computes a change from the newest version and commits it. It takes effect as if
 * nobody else had written meanwhile: when somebody has, it is computed again, from
 * then on with the table's other writers in this process waiting.
 * @throws CatalogError ConcurrentModification when writers of other processes were
 * first too often, and what computing it refuses; nothing is changed then, and no
 * file is left behind.
 */
export async function commitDerived<Result>(
  commit: DerivedCommit<Result>,
): Promise<DerivedOutcome<Result>> {
  const { tables, current, chain = MAIN_CHAIN } = commit;
  const table = commit.table.content;
  const attempt = new Attempt(commit.derive);
  if (commit.recorded !== undefined) attempt.flushes.add(commit.recorded());
  try {
    await attempt.derive(await tables.snapshot(table, undefined, chain));
    const committed = await tables.commit({
      table: commit.table,
      chain,
      current,
      flushes: attempt.flushes,
      ...(commit.writes !== undefined && { writes: commit.writes }),
      change: async (base) => {
        const { fragments, nextRowId } = await attempt.derive(tables.snapshotOf(table, base));
        commit.check?.();
        return { ...base, fragments, nextRowId };
      },
      judge: async (proposed) => commit.judge?.(attempt.outcome().result, proposed),
      seal: sealOf(commit.seal, (committed) => ({ committed, ...attempt.outcome() })),
    });
    await tables.discard(table, attempt.unnamedBy(committed.manifest.fragments));
    return { committed, ...attempt.outcome() };
  } catch (error) {
    if (tookNoEffect(error) || attempt.failedWith(error)) {
      await tables.discard(table, attempt.unnamedBy([]));
    }
    throw error;
  }
}

/** The last computation of the change, and all files written for it. */
class Attempt<Result> {
  readonly #derive: Derive<Result>;
  readonly #files = new Set<string>();
  readonly flushes = new Flushes();
  #derived: { readonly version: bigint; readonly value: Derived<Result> } | undefined;
  #fault: unknown;
  #count = 0;

  constructor(derive: Derive<Result>) {
    this.#derive = derive;
  }

  /** Computes the next version, once per base version. */
  async derive(base: Snapshot): Promise<Derived<Result>> {
    if (this.#derived?.version === base.version) return this.#derived.value;
    this.#count++;
    const wrote: Wrote = (files) => {
      for (const file of files) this.#files.add(file);
    };
    try {
      const value = await this.#derive(base, wrote, this.flushes);
      this.#derived = { version: base.version, value };
      return value;
    } catch (error) {
      this.#fault = error;
      throw error;
    }
  }

  outcome(): Omit<DerivedOutcome<Result>, 'committed'> {
    if (this.#derived === undefined) throw new Error('the change was not computed');
    return { result: this.#derived.value.result, attempts: this.#count };
  }

  /** Whether an error occurred in the computation. */
  failedWith(error: unknown): boolean {
    return this.#fault !== undefined && this.#fault === error;
  }

  /** The files that were written and that some fragments do not name. */
  unnamedBy(fragments: readonly Fragment[]): readonly { readonly file: string }[] {
    const named = new Set(
      fragments.flatMap(({ files, deletions }) => [...files.map(({ path }) => path), deletions]),
    );
    return [...this.#files].filter((file) => !named.has(file)).map((file) => ({ file }));
  }
}

/**
 * Deletes the rows of which a predicate is true.
 * @param change For a caller whom restrictions bind: only rows that the caller sees are deleted.
 * @returns How many rows it deleted.
 * @throws CatalogError TableColumnNotFound or InvalidInput for what is wrong with the predicate.
 */
export function deleteRows(
  reader: FragmentReader,
  predicate: string,
  statement = ownStatement(),
  change?: VisibleChange,
): Derive<bigint> {
  const finder = new RowFinder(reader);
  const removal = new RowRemoval(reader);
  const find = async (base: Snapshot): Promise<ReadonlyMap<Fragment, Uint32Array>> => {
    if (change !== undefined) {
      return storedRowsOf(await findVisible(await change.table(base), predicate, statement));
    }
    const fields = withComputed(base.schema, [ROW_ID, ROW_OFFSET]);
    const formula = predicateFormula('predicate', predicate, fields, statement);
    const found = await finder.find(base, formula);
    return new Map(found.map((each) => [each.fragment, physicalRows(each.found)]));
  };
  return async (base, wrote, flushes) => {
    const deleted = await find(base);
    const fragments = await removal.without(base, deleted, wrote, flushes);
    const result = [...deleted.values()].reduce((sum, rows) => sum + BigInt(rows.length), 0n);
    return { fragments, nextRowId: base.nextRowId, result };
  };
}
