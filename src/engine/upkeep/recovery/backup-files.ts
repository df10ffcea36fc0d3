import { basename, dirname, join, relative } from 'node:path';
import type { StoreEntry } from '../../../store/store.ts';
import { decodeBranch } from '../../catalog/records/records-codec.ts';
import type { JournalState } from '../../catalog/journal/journal-state.ts';
import type { VersionRecord } from '../../format/records.ts';
import type { Storage } from '../../../storage/storage.ts';
import { isMissing } from '../../../storage/storage-error.ts';
import { parseVersionFile } from '../../format/lance/version-file.ts';
import { LANCE_VERSIONS } from '../../format/lance/versions.ts';
import { versionsFolder } from '../../versions/managed/place.ts';
import { severalAtOnce } from '../retention/entries.ts';
import { VersionReader } from '../../catalog/records/version-reader.ts';
import { branchFolder, DATA, DELETIONS, DETACHED_SEALS, VERSIONS } from '../../format/layout.ts';
import { decodeVersion } from '../../format/version-codec.ts';
import type { BackupTable } from './backup-tables.ts';
import { headsOf } from './journaled-heads.ts';

type Tables = ReadonlyMap<string, BackupTable>;

/** A table whose files come into the backup. */
interface Moving extends BackupTable {
  readonly to: string;
}

const AT_ONCE = 16;

export class BackupFiles {
  readonly #storage: Storage;
  readonly #reader: VersionReader;
  readonly #progress: (doing: string) => void;
  readonly #folders = new Set<string>();
  readonly #copied = new Set<string>();
  readonly #links: string[] = [];
  #versions = 0;
  #linked = 0;
  #copiedBytes = 0;

  constructor(storage: Storage, progress: (doing: string) => void) {
    this.#storage = storage;
    this.#reader = new VersionReader(storage);
    this.#progress = progress;
  }

  /** How many versions and files there are so far, and how they came there. */
  get counts() {
    return {
      versions: this.#versions,
      files: this.#copied.size,
      linked: this.#linked,
      copiedBytes: this.#copiedBytes,
      links: this.#links,
    };
  }

  /** Copies the files that the tables of a state need, durably. */
  async copy(tables: Tables, state: JournalState): Promise<void> {
    const heads = await headsOf(state, '');
    for (const table of tables.values()) {
      if (!isMoving(table)) continue;
      if (table.record.kind === 'engine') await this.#engineFolders(table);
      else {
        const own = heads.filter(({ tableId }) => tableId === table.record.id);
        const newest = own.map(({ branch, version }) => [versionsFolder(branch), version] as const);
        await this.#lanceTable(table, new Map([[LANCE_VERSIONS, 0n], ...newest]));
      }
    }
    await severalAtOnce(state.entries(), AT_ONCE, (entry) => this.#entry(entry, tables));
    for (const folder of this.#folders) await this.#storage.flush(folder);
  }

  async #engineFolders({ from, to }: Moving): Promise<void> {
    for (const name of [DATA, DELETIONS, VERSIONS]) await this.#folder(join(to, name));
    const seals = join(from, DETACHED_SEALS);
    if ((await this.#storage.stat(seals)) !== undefined)
      await this.#file(seals, join(to, DETACHED_SEALS));
  }

  /** Records of a table that this engine writes. */
  async #entry({ key, value }: StoreEntry, tables: Tables): Promise<void> {
    const table = tables.get(key.slice(1, key.indexOf('/')));
    if (!isMoving(table) || table.record.kind !== 'engine') return;
    if (key.startsWith('B')) {
      await this.#folder(join(table.to, branchFolder(decodeBranch(value).id), VERSIONS));
    }
    if (key.startsWith('V')) await this.#version(table, decodeVersion(value));
  }

  async #version({ from, to }: Moving, record: VersionRecord): Promise<void> {
    this.#versions += 1;
    this.#progress(`version ${record.version} of ${from}`);
    const named = await this.#reader.named(from, record);
    await this.#manifest(
      join(from, record.staging),
      join(from, record.manifest),
      join(to, record.manifest),
    );
    for (const name of named) await this.#file(join(from, name), join(to, name));
  }

  /** A manifest under its final name, which it may be about to get. */
  async #manifest(staging: string, final: string, to: string): Promise<void> {
    const isFinal = (await this.#storage.stat(final)) !== undefined;
    try {
      await this.#file(isFinal ? final : staging, to);
    } catch (error) {
      if (isFinal || !isMissing(error)) throw error;
      this.#copied.delete(to);
      await this.#file(final, to);
    }
  }

  /**
   * The folder of a table that Lance clients write: manifests first, since the
   * files that a manifest names are there before it is. What they remove
   * meanwhile is not needed by what they keep.
   * @param heads The newest version of each line by the folder of its manifests:
   * later ones came after the moment of the backup, which knows nothing of them.
   */
  async #lanceTable({ from, to }: Moving, heads: ReadonlyMap<string, bigint>): Promise<void> {
    this.#progress(`the files of ${from}`);
    await this.#folder(to);
    const paths: string[] = [];
    for await (const entry of this.#storage.tree(from)) {
      if (entry.isLink) this.#links.push(entry.path);
      else if (!entry.isFolder) paths.push(entry.path);
    }
    const isLater = (path: string) => {
      const file = parseVersionFile(basename(path));
      const head = heads.get(relative(from, dirname(path)));
      return file?.staging === '' && head !== undefined && file.version > head;
    };
    const manifests = paths.filter((path) => isManifest(path) && !isLater(path));
    for (const path of manifests) await this.#lanceFile(path, from, to);
    for await (const { path, isFolder, isLink } of this.#storage.tree(from)) {
      if (!isFolder && !isLink && !isManifest(path)) await this.#lanceFile(path, from, to);
    }
  }

  async #lanceFile(path: string, from: string, to: string): Promise<void> {
    try {
      await this.#file(path, join(to, relative(from, path)));
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  /** Each file once, however many versions name it. */
  async #file(from: string, to: string): Promise<void> {
    if (this.#copied.has(to)) return;
    this.#copied.add(to);
    await this.#folder(dirname(to));
    const { linked, bytes } = await this.#storage.copy(from, to, true);
    if (linked) this.#linked += 1;
    this.#copiedBytes += bytes;
  }

  async #folder(path: string): Promise<void> {
    if (this.#folders.has(path)) return;
    await this.#storage.folders?.make(path);
    this.#folders.add(path);
  }
}

function isMoving(table: BackupTable | undefined): table is Moving {
  return table !== undefined && table.to !== null;
}

function isManifest(path: string): boolean {
  return dirname(path).endsWith(LANCE_VERSIONS);
}
