import type { Storage } from '../../../storage/storage.ts';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Check, Store, Write } from '../../../store/store.ts';
import { encodeBranch } from '../../catalog/records/records-codec.ts';
import { branchKey, externalKey, versionKey } from '../../catalog/records/keys.ts';
import { absent } from '../../catalog/records/reader.ts';
import type { VersionRecord } from '../../format/records.ts';
import { isDetached } from '../../format/lance/version-file.ts';
import { lanceManifests, type LanceVersion } from '../../format/lance/versions.ts';
import { branchChain, isRemoved, type Branches } from '../lines/branches.ts';
import { MAIN, MAIN_CHAIN, type Chain } from '../../format/chain.ts';
import { encodeVersion } from '../../format/version-codec.ts';
import { headCheck, versionWrites, type VersionStore } from '../lines/version-store.ts';
import { branchRecord, branchRefs, type BranchRef } from './lance-refs.ts';
import { LANCE_TREE } from './place.ts';
import { recordOfFile } from './managed-manifests.ts';

/** Versions in a table's folder that the store lacks. */
export interface BackFill {
  readonly storage: Storage;
  readonly checks: readonly Check[];
  readonly writes: readonly Write[];
  /** Every line of versions that the folder has, main first. */
  readonly lines: readonly FoundLine[];
}

/** A line of versions, and those of it that the store does not know. */
export interface FoundLine {
  readonly chain: Chain;
  /** The newest version in the store. */
  readonly head: VersionRecord | undefined;
  /** In ascending order; those that belong to no chain come first. */
  readonly found: readonly VersionRecord[];
  /** Its origin; absent for main. */
  readonly origin?: Pick<BranchRef, 'parentBranch' | 'parentVersion'>;
}

export interface BackFillParts {
  readonly storage: Storage;
  readonly store: Pick<Store, 'getMany'>;
  readonly versions: VersionStore;
  readonly branches: Branches;
}

/**
 * The records of all versions that Lance clients wrote without the catalog, and of
 * their branches: a client asks for each of them by its number (wire contract,
 * section 10.7). What has a record keeps it.
 * @param tableId Of the table that the folder is, or will be.
 */
export async function backFill(
  parts: BackFillParts,
  tableId: string,
  location: string,
): Promise<BackFill> {
  const fill = new Fill(parts, tableId, location);
  await fill.add(MAIN_CHAIN, location);
  const refs = await branchRefs(parts.storage, location);
  const ids = new Map([...refs.keys()].map((name) => [name, randomUUID()]));
  for (const ref of refs.values()) await fill.addBranch(ref, ids);
  return fill;
}

/** How many manifests are read at once. */
const AT_ONCE = 16;

class Fill implements BackFill {
  readonly checks: Check[] = [];
  readonly writes: Write[] = [];
  readonly lines: FoundLine[] = [];
  readonly storage: Storage;
  readonly #parts: BackFillParts;
  readonly #tableId: string;
  readonly #location: string;

  constructor(parts: BackFillParts, tableId: string, location: string) {
    this.storage = parts.storage;
    this.#parts = parts;
    this.#tableId = tableId;
    this.#location = location;
  }

  /** @returns The newest version of the line, with and without a record before. */
  async add(
    chain: Chain,
    folder: string,
    origin?: FoundLine['origin'],
  ): Promise<VersionRecord | undefined> {
    const head = await this.#parts.versions.head(this.#tableId, chain);
    this.checks.push(headCheck(this.#tableId, head, chain.key));
    const found = await lanceManifests(this.storage, folder);
    const unknown = await this.#unknown(chain, found);
    let newest = head?.content;
    const records: VersionRecord[] = [];
    for (let start = 0; start < unknown.length; start += AT_ONCE) {
      const some = unknown.slice(start, start + AT_ONCE);
      for (const record of await Promise.all(
        some.map((one) => recordOfFile(this.storage, this.#location, one)),
      )) {
        records.push(record);
        this.writes.push(this.#write(chain, record));
        const isNewer = newest === undefined || record.version > newest.version;
        if (!isDetached(record.version) && isNewer) newest = record;
      }
    }
    if (records.length > 0) await this.#decided(chain);
    if (newest !== undefined && newest !== head?.content) {
      this.writes.push(...versionWrites(this.#tableId, newest, chain.key).slice(0, 1));
    }
    const ascending = records.toSorted((one, other) => (one.version < other.version ? -1 : 1));
    const line = { chain, head: head?.content, found: ascending };
    this.lines.push(origin === undefined ? line : { ...line, origin });
    return newest;
  }

  async addBranch(ref: BranchRef, ids: ReadonlyMap<string, string>): Promise<void> {
    const { name } = ref;
    const { branches } = this.#parts;
    const folder = join(this.#location, LANCE_TREE, name);
    const stored = await branches.record(this.#tableId, name);
    // Its files are left of a removal that is not finished.
    if (stored !== undefined && isRemoved(stored.content)) return;
    if (stored !== undefined) {
      await this.add({ ...branchChain(name, stored), lineage: [] }, folder, ref);
      return;
    }
    const id = ids.get(name)!;
    const chain = { branch: name, key: id, lineage: [], checks: [] };
    const first = await this.add(chain, folder, ref);
    if (first === undefined) return;
    const parent = await branches.find(this.#tableId, ref.parentBranch);
    const above = parent?.content.id ?? ids.get(ref.parentBranch) ?? MAIN;
    const key = branchKey(this.#tableId, name);
    this.checks.push(absent(key));
    this.writes.push({ key, value: encodeBranch(branchRecord(id, ref, above)) });
  }

  /** A version that was refused before is recorded now. */
  async #decided(chain: Chain): Promise<void> {
    const key = externalKey(this.#tableId, chain.key);
    const [refused] = await this.#parts.store.getMany([key]);
    if (refused !== undefined) this.writes.push({ key, value: null });
  }

  async #unknown(chain: Chain, found: readonly LanceVersion[]): Promise<readonly LanceVersion[]> {
    const keys = found.map(({ version }) => versionKey(this.#tableId, chain.key, version));
    const values = await this.#parts.store.getMany(keys);
    return found.filter((_, index) => values[index] === undefined);
  }

  #write(chain: Chain, record: VersionRecord): Write {
    const key = versionKey(this.#tableId, chain.key, record.version);
    return { key, value: encodeVersion(record) };
  }
}
