import type { Storage } from '../../../storage/storage.ts';
import { randomUUID } from 'node:crypto';
import { CatalogError } from '../../../protocol/errors.ts';
import type { Check, Store } from '../../../store/store.ts';
import { decodeBranch, encodeBranch } from '../../catalog/records/records-codec.ts';
import { children } from '../../catalog/records/children.ts';
import {
  commitFilesOnce,
  tookNoEffect,
  type Committer,
} from '../../catalog/records/commit-loop.ts';
import { branchesOf, branchKey, headKey, prefixRange } from '../../catalog/records/keys.ts';
import { absent, unchanged } from '../../catalog/records/reader.ts';
import type { BranchRecord, Stored, TableRecord, VersionRecord } from '../../format/records.ts';
import type { Seal } from '../../catalog/records/seal.ts';
import { makeBranchFolder, removeBranchFolder } from '../../format/layout.ts';
import { branchNameFault, checkBranchName } from '../../format/branch-name.ts';
import { MAIN, MAIN_CHAIN, type Chain } from '../../format/chain.ts';
import { encodeVersion } from '../../format/version-codec.ts';

export interface NamedBranch {
  readonly name: string;
  readonly branch: BranchRecord;
}

/** The branches of a table, and the checks that they are still the same. */
interface AllBranches {
  readonly branches: readonly NamedBranch[];
  readonly checks: readonly Check[];
}

/** Origin of a branch: a version, and the line on which it was requested. */
export interface BranchOrigin {
  readonly chain: Chain;
  readonly version: Stored<VersionRecord>;
}

/** A branch that is to be made; what it names is read again before each attempt. */
interface BranchCreation {
  readonly name: string;
  readonly table: () => Promise<Stored<TableRecord>>;
  /** Throws when there is no such version. */
  readonly origin: (table: TableRecord) => Promise<BranchOrigin>;
  /** Storage of the table's files. */
  readonly storage: Storage;
  readonly folder: (table: TableRecord) => string;
  readonly seal?: Seal<unknown> | undefined;
}

/** The branches of tables: further lines of versions, each a record of its own in the store. */
export class Branches {
  readonly #store: Store;
  readonly #committer: Committer;

  constructor(store: Store, committer: Committer) {
    this.#store = store;
    this.#committer = committer;
  }

  /**
   * The line of versions that a name means: `main`, or a branch.
   * @throws CatalogError TableBranchNotFound.
   */
  async chain(tableId: string, name: string): Promise<Chain> {
    if (name === MAIN) return MAIN_CHAIN;
    return branchChain(name, await this.require(tableId, name));
  }

  /** @throws CatalogError TableBranchNotFound. */
  async require(tableId: string, name: string): Promise<Stored<BranchRecord>> {
    const branch = await this.find(tableId, name);
    if (branch === undefined) throw branchNotFound(name);
    return branch;
  }

  async find(tableId: string, name: string): Promise<Stored<BranchRecord> | undefined> {
    const stored = await this.record(tableId, name);
    return stored === undefined || isRemoved(stored.content) ? undefined : stored;
  }

  /** The record under a name, also of a branch whose removal is pending. */
  async record(tableId: string, name: string): Promise<Stored<BranchRecord> | undefined> {
    // No branch has such a name, and it might not do as a key.
    if (branchNameFault(name) !== undefined) return undefined;
    const key = branchKey(tableId, name);
    const value = await this.#store.get(key);
    return value === undefined ? undefined : { key, value, content: decodeBranch(value) };
  }

  /** Branches in the order of their names' bytes, beyond a name. */
  async page(tableId: string, after: string, limit: number): Promise<readonly NamedBranch[]> {
    const found: NamedBranch[] = [];
    if (limit <= 0) return found;
    for await (const { name, value } of children(this.#store, branchesOf(tableId), after)) {
      const branch = decodeBranch(value);
      if (!isRemoved(branch)) found.push({ name, branch });
      if (found.length === limit) break;
    }
    return found;
  }

  /** The lines of versions of a table beside the main one. */
  async chains(tableId: string): Promise<readonly Chain[]> {
    const chains: Chain[] = [];
    for await (const { name, key, value } of children(this.#store, branchesOf(tableId))) {
      const content = decodeBranch(value);
      if (!isRemoved(content)) chains.push(branchChain(name, { key, value, content }));
    }
    return chains;
  }

  /** Names of the branches whose removal is pending. */
  async removed(tableId: string): Promise<readonly string[]> {
    const names: string[] = [];
    for await (const { name, value } of children(this.#store, branchesOf(tableId))) {
      if (isRemoved(decodeBranch(value))) names.push(name);
    }
    return names;
  }

  async all(tableId: string): Promise<AllBranches> {
    const branches: NamedBranch[] = [];
    const checks: Check[] = [];
    for await (const { name, key, value } of children(this.#store, branchesOf(tableId))) {
      const branch = decodeBranch(value);
      if (!isRemoved(branch)) branches.push({ name, branch });
      checks.push(unchanged({ key, value }));
    }
    checks.push({ kind: 'count', ...prefixRange(branchesOf(tableId)), count: checks.length });
    return { branches, checks };
  }

  /**
   * Makes a branch: its head is the version that it begins with, so that nothing is copied.
   * @throws CatalogError TableBranchAlreadyExists, InvalidInput for a name that no
   * branch may have, and those of the creation.
   */
  async create(creation: BranchCreation): Promise<BranchRecord> {
    checkBranchName(creation.name);
    const id = randomUUID();
    const folders = new Set<string>();
    try {
      return await this.#created(creation, id, folders);
    } catch (error) {
      if (tookNoEffect(error)) {
        for (const folder of folders) await removeBranchFolder(creation.storage, folder, id);
      }
      throw error;
    }
  }

  async #created(
    { name, table, origin, storage, folder, seal }: BranchCreation,
    id: string,
    folders: Set<string>,
  ): Promise<BranchRecord> {
    return commitFilesOnce<BranchRecord>(
      { committer: this.#committer, seal },
      async (uncertain) => {
        const current = await table();
        const there = await this.find(current.content.id, name);
        if (uncertain && there?.content.id === id) return { kind: 'done', result: there.content };
        const from = await origin(current.content);
        if (there !== undefined) throw branchExists(name);
        folders.add(folder(current.content));
        await makeBranchFolder(storage, folder(current.content), id);
        const record = newBranch(id, from);
        const key = branchKey(current.content.id, name);
        const head = {
          key: headKey(current.content.id, id),
          value: encodeVersion(from.version.content),
        };
        return {
          kind: 'commit',
          checks: [unchanged(current), absent(key), unchanged(from.version), ...from.chain.checks],
          writes: [{ key, value: encodeBranch(record) }, head],
          result: record,
        };
      },
    );
  }
}

/** Whether a branch is gone, with files that may be left. */
export function isRemoved({ pending }: BranchRecord): boolean {
  return pending === 'removal';
}

/** A branch as a line of versions. */
export function branchChain(name: string, stored: Stored<BranchRecord>): Chain {
  const { id, lineage } = stored.content;
  return { branch: name, key: id, lineage, checks: [unchanged(stored)] };
}

function newBranch(id: string, { chain, version }: BranchOrigin): BranchRecord {
  const origin = { branch: chain.branch, key: chain.key, version: version.content.version };
  return {
    id,
    lineage: [origin, ...chain.lineage],
    manifestBytes: version.content.manifestBytes,
    createdMillis: Date.now(),
  };
}

export function branchNotFound(name: string): CatalogError {
  return new CatalogError('TableBranchNotFound', `the table has no branch ${JSON.stringify(name)}`);
}

export function branchExists(name: string): CatalogError {
  return new CatalogError(
    'TableBranchAlreadyExists',
    `the table already has a branch ${JSON.stringify(name)}`,
  );
}
