import { CatalogError } from '../protocol/errors.ts';
import type { ObjectPath } from '../protocol/identifier.ts';
import type { Store } from '../store/store.ts';
import type { Catalog } from './catalog/catalog.ts';
import { decodeTable } from './catalog/records/records-codec.ts';
import type { Stored, TableRecord } from './format/records.ts';
import { walkTables } from './catalog/records/table-walk.ts';
import { compactRows, needsCompaction, type Compacted } from './change/compaction.ts';
import { commitDerived } from './change/derived-commit.ts';
import { Branches } from './versions/lines/branches.ts';
import type { Chain } from './format/chain.ts';
import type { FragmentReader } from './query/scan/fragment-reader.ts';
import type { Tables } from './versions/tables.ts';
import { VersionStore } from './versions/lines/version-store.ts';
import {
  acceptExternal,
  setExternalAside,
  type ExternalDecision,
  type ExternalOutcome,
} from './versions/managed/external-decision.ts';
import { requireEngineTable } from './handlers/call/table-parts.ts';
import { lastWritten } from './catalog/journal/journal-files.ts';
import { tookEffect, type PastRequest } from './once/request-digest.ts';
import { backUp, type BackedUp, type BackupOptions } from './upkeep/recovery/backup.ts';
import { Collector } from './upkeep/retention/collector.ts';
import { DroppedTables } from './upkeep/retention/dropped-tables.ts';
import { judgeHistory, type History, type HistoryOptions } from './rules/history.ts';
import {
  convertTable,
  type ConversionOptions,
  type ConversionParts,
  type Converted,
} from './upkeep/conversion/table-conversion.ts';
import { Verifier } from './upkeep/verification/verifier.ts';
import type { RetentionParts } from './upkeep/retention/parts.ts';

interface UpkeepParts {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly tables: Tables;
  readonly reader: FragmentReader;
  readonly retention: RetentionParts;
  /** Merges fragments of a line of a Lance table; absent where there is no library. */
  readonly compactLance?: CompactLance | undefined;
  /** Reads and writes Lance tables; why there is none. */
  readonly library: ConversionParts['library'];
}

/** Undefined if there was nothing to merge. */
type CompactLance = (
  path: ObjectPath,
  table: TableRecord,
  branch: string,
) => Promise<Compacted | undefined>;

/** Work that keeps tables quick, and their files in order. */
export class Upkeep {
  /** Tables that were dropped and can be brought back. */
  readonly dropped: DroppedTables;
  /** Removes what nothing needs any more. */
  readonly collector: Collector;
  /** Accounts for everything that is there. */
  readonly verifier: Verifier;
  readonly #parts: UpkeepParts;

  constructor(parts: UpkeepParts) {
    this.#parts = parts;
    this.dropped = new DroppedTables(parts.retention);
    this.collector = new Collector(parts.retention);
    this.verifier = new Verifier(parts.retention);
  }

  /** Whether a request of the past took effect, where its client chose its id and its answer is still kept. */
  async tookEffect(request: PastRequest): Promise<boolean> {
    return tookEffect(this.#parts.store, request);
  }

  /** Whether the catalog may have changed since a moment, in milliseconds since 1970: whether its journal was written to. */
  async changedSince(millis: number): Promise<boolean> {
    const { retention } = this.#parts;
    return (await lastWritten(retention.storage, retention.journal)) >= millis;
  }

  /** Copies the catalog as it is at one moment. @throws BackupRefusal */
  async backup(options: BackupOptions): Promise<BackedUp> {
    return backUp(this.#parts.retention, options);
  }

  /** Judges the versions that are there by rules that may not have been when they were made. */
  async judgePast(options: HistoryOptions): Promise<History> {
    const { store, tables, retention } = this.#parts;
    return retention.horizon.running.during(() => judgeHistory({ store, tables }, options));
  }

  /** The tables that can be compacted, in the order of their paths. */
  async *tables(): AsyncGenerator<ObjectPath> {
    const options = { delimiter: '/', after: '', chunk: 1000, opens: () => true };
    for await (const { path, value } of walkTables(this.#parts.store, options)) {
      const record = decodeTable(value);
      const { kind } = record;
      if (!this.#parts.retention.isHere(record)) continue;
      const hasLibrary = this.#parts.compactLance !== undefined;
      if (kind === 'engine' || (kind === 'lance' && hasLibrary)) yield path;
    }
  }

  /**
   * Merges the small fragments of a table, as one more version of it, and likewise
   * on each branch that was written to; writers continue meanwhile. Answers nothing
   * when there was nothing to merge.
   * @throws CatalogError TableNotFound, and why the table's rows are not here.
   */
  async compact(path: ObjectPath): Promise<Compacted | undefined> {
    return this.#parts.retention.horizon.running.during(() => this.#compact(path));
  }

  /** The same for a table that may be dropped meanwhile: there is nothing to merge then. */
  async compactIfPresent(path: ObjectPath): Promise<Compacted | undefined> {
    try {
      return await this.compact(path);
    } catch (error) {
      if (error instanceof CatalogError && error.row.name === 'TableNotFound') return undefined;
      throw error;
    }
  }

  /** Gives a table another format. @throws CatalogError, RuleRefusal */
  async convert(options: ConversionOptions): Promise<Converted> {
    const { store, catalog, tables, reader, retention, library } = this.#parts;
    const { storage, committer, managed, retained } = retention;
    const shared = { storage, store, committer, managed, retained };
    const parts = { ...shared, catalog, tables, reader, library };
    return retention.horizon.running.during(() => convertTable(parts, options));
  }

  /** Records versions that were written without the catalog, as an operator decided. @throws CatalogError */
  async acceptExternal(decision: ExternalDecision): Promise<ExternalOutcome> {
    return this.#deciding(decision, acceptExternal);
  }

  /** Moves manifests of versions that were written without the catalog out of the way, as an operator decided. @throws CatalogError */
  async setExternalAside(decision: ExternalDecision): Promise<ExternalOutcome> {
    return this.#deciding(decision, setExternalAside);
  }

  async #deciding(
    decision: ExternalDecision,
    decide: typeof acceptExternal,
  ): Promise<ExternalOutcome> {
    const { catalog, store, retention } = this.#parts;
    const { storage, committer } = retention;
    const versions = new VersionStore(store);
    const branches = new Branches(store, committer);
    const parts = { storage, catalog, store, committer, versions, branches };
    return retention.horizon.running.during(() => decide(parts, decision));
  }

  async #compact(path: ObjectPath): Promise<Compacted | undefined> {
    const { catalog, tables } = this.#parts;
    if (path.length === 0) throw new CatalogError('InvalidInput', 'the root is not a table');
    const table = await catalog.requireTable(path);
    const { compactLance } = this.#parts;
    const isLance = table.content.kind === 'lance' && compactLance !== undefined;
    if (!isLance) requireEngineTable(path, table.content);
    let sum: Compacted | undefined;
    for (const chain of await tables.chains(table.content)) {
      const done = await this.#compactLine(table.content, chain, () =>
        isLance
          ? compactLance(path, table.content, chain.branch)
          : this.#compactChain(path, table, chain),
      );
      if (done === undefined) continue;
      const { merged, made } = sum ?? { merged: 0, made: 0 };
      sum = { merged: merged + done.merged, made: made + done.made };
    }
    return sum;
  }

  /** Compacts a line of versions, if it is worth it. */
  async #compactLine(
    table: TableRecord,
    chain: Chain,
    compact: () => Promise<Compacted | undefined>,
  ): Promise<Compacted | undefined> {
    try {
      const { content } = await this.#parts.tables.version(table, undefined, chain);
      // An unchanged branch shares its files with its origin: a merge would store them twice.
      if (content.version === chain.lineage[0]?.version) return undefined;
      return await compact();
    } catch (error) {
      // It was deleted meanwhile.
      if (error instanceof CatalogError && error.row.name === 'TableBranchNotFound') {
        return undefined;
      }
      throw error;
    }
  }

  async #compactChain(
    path: ObjectPath,
    table: Stored<TableRecord>,
    chain: Chain,
  ): Promise<Compacted | undefined> {
    const { catalog, tables, reader } = this.#parts;
    const { fragments } = await tables.snapshot(table.content, undefined, chain);
    if (!needsCompaction(fragments)) return undefined;
    const current = () => catalog.requireTable(path);
    const derive = compactRows(reader);
    return (await commitDerived({ tables, table, chain, current, derive })).result;
  }
}
