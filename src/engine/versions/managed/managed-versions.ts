import { join } from 'node:path';
import type { Storage } from '../../../storage/storage.ts';
import { MissingFile } from '../../../storage/storage-error.ts';
import type { Store } from '../../../store/store.ts';
import type { Committer } from '../../catalog/records/commit-loop.ts';
import { versionKey } from '../../catalog/records/keys.ts';
import { unchanged } from '../../catalog/records/reader.ts';
import type { Stored, TableRecord, VersionRecord } from '../../format/records.ts';
import { versionNotFound } from '../../format/version-refusals.ts';
import { MAIN_CHAIN, type Chain } from '../../format/chain.ts';
import { headCheck, VersionStore, type VersionPage } from '../lines/version-store.ts';
import { isManifestRead, isSnapshotKnown } from '../../format/lance/snapshot.ts';
import { isOwn } from './held-manifests.ts';
import { finaliseManifest, hasManifest } from './managed-manifests.ts';
import { requireRecorded } from './manifest-identity.ts';

interface ManagedVersionsParts {
  readonly storage: Storage;
  readonly store: Store;
  readonly committer: Committer;
  readonly reading?: boolean;
}

/** How many manifests are looked at at once. */
const AT_ONCE = 16;

/**
 * The versions of tables that Lance clients write, as the store has them. Whoever
 * reads a record first finishes what a crash left undone; the record of a version
 * that a client has cleaned up goes.
 */
export class ManagedVersions {
  readonly #storage: Storage;
  readonly #committer: Committer;
  readonly #versions: VersionStore;
  readonly #reading: boolean;

  /** @param parts.reading Whether what a crash left undone, or a client cleaned up, stays so. */
  constructor({ storage, store, committer, reading = false }: ManagedVersionsParts) {
    this.#storage = storage;
    this.#committer = committer;
    this.#versions = new VersionStore(store);
    this.#reading = reading;
  }

  /**
   * The record of a table's newest version, or of the one asked for. Its manifest is final, and the one that was recorded.
   * @param version Negative for one that belongs to no chain.
   * @throws CatalogError TableVersionNotFound, Internal for a manifest that is another's; MissingFile for that of the newest.
   */
  async version(
    table: TableRecord,
    version: bigint | undefined,
    chain: Chain = MAIN_CHAIN,
  ): Promise<Stored<VersionRecord>> {
    const stored =
      version === undefined
        ? await this.#versions.head(table.id, chain)
        : await this.#versions.at(table.id, version, chain);
    if (stored === undefined) throw versionNotFound(version);
    const location = locationOf(table);
    // Nobody removes the newest version.
    if (version === undefined && isSnapshotKnown(location, stored.content)) return stored;
    if (await this.#isThere(location, stored, isManifestRead)) return stored;
    if (version === undefined) throw new MissingFile(join(location, stored.content.manifest));
    await this.#forget(table, stored.content, chain);
    throw versionNotFound(version);
  }

  /** The versions of a table; every one that is answered has its final manifest. */
  async versions(
    table: TableRecord,
    page: VersionPage,
    chain: Chain = MAIN_CHAIN,
  ): Promise<readonly VersionRecord[]> {
    const found: VersionRecord[] = [];
    let { after } = page;
    for (;;) {
      const limit = page.limit - found.length;
      const next = { ...page, limit, ...(after === undefined ? {} : { after }) };
      const records = await this.#versions.list(table.id, next, chain);
      found.push(...(await this.#present(table, records, chain)));
      if (records.length < limit || found.length >= page.limit) return found;
      after = records.at(-1)?.version;
    }
  }

  async #present(
    table: TableRecord,
    records: readonly VersionRecord[],
    chain: Chain,
  ): Promise<readonly VersionRecord[]> {
    const present: VersionRecord[] = [];
    const location = table.location;
    if (location === null) return present;
    for (let start = 0; start < records.length; start += AT_ONCE) {
      const some = records.slice(start, start + AT_ONCE);
      const there = await Promise.all(
        some.map((content) => {
          const key = versionKey(table.id, chain.key, content.version);
          return this.#isThere(location, { key, content });
        }),
      );
      for (const [index, record] of some.entries()) {
        if (there[index] === true) present.push(record);
        else await this.#forget(table, record, chain);
      }
    }
    return present;
  }

  async #isThere(location: string, found: FoundVersion, reads?: ReadFinal): Promise<boolean> {
    const isThere = this.#reading
      ? await hasManifest(this.#storage, location, found.content)
      : await finishVersion(this.#storage, this.#committer, location, found, reads);
    if (isThere) await requireRecorded(this.#storage, location, found.content);
    return isThere;
  }

  /** The newest version is never removed, nor is one that was written meanwhile. */
  async #forget(table: TableRecord, { version }: VersionRecord, chain: Chain): Promise<void> {
    if (this.#reading) return;
    const head = await this.#versions.head(table.id, chain);
    const stored = await this.#versions.at(table.id, version, chain);
    if (stored === undefined || version === head?.content.version) return;
    if (await finishVersion(this.#storage, this.#committer, locationOf(table), stored)) return;
    await this.#committer.commit(
      [unchanged(stored), headCheck(table.id, head, chain.key)],
      [{ key: stored.key, value: null }],
    );
  }
}

/** The bytes of a record, where it was read by itself. */
export interface FoundValue {
  readonly value?: Uint8Array;
}

type FoundVersion = Pick<Stored<VersionRecord>, 'key' | 'content'> & FoundValue;

/** Whether a final manifest is there, by reading it; undefined for one that is not kept in memory. */
type ReadFinal = typeof isManifestRead;

/**
 * Finishes what a crash left undone of a committed version, or what others are still
 * at: the journal gets it, then its manifest the final name.
 * @param reads Reads a manifest that needs nothing, where its reader comes next.
 * @returns Whether the manifest is there.
 */
export async function finishVersion(
  storage: Storage,
  committer: Committer,
  location: string,
  { key, value, content }: FoundVersion,
  reads?: ReadFinal,
): Promise<boolean> {
  const settle = async () => committer.settle?.(key, value);
  const isFinal = async () =>
    (await reads?.(storage, location, content)) ?? isOwn(storage, location, content.manifest);
  return finaliseManifest(storage, location, content, settle, isFinal);
}

/** The folder of a table that Lance clients write, or will. */
export function locationOf({ id, location }: TableRecord): string {
  if (location !== null) return location;
  throw new Error(`the table ${id} has no location`);
}
