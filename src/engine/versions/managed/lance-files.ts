import { join, relative, sep } from 'node:path';
import { DataType, Schema, type Field } from 'apache-arrow';
import { LRUCache } from 'lru-cache';
import { isObjectKey } from '../../../storage/object-key.ts';
import type { Storage } from '../../../storage/storage.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../../../protocol/identifier.ts';
import type { VersionRecord } from '../../format/records.ts';
import { lanceFolders } from '../../format/lance/lance-folders.ts';
import { arrowFields } from '../../format/lance/lance-schema.ts';
import { LanceManifestError } from '../../format/lance/lance-message.ts';
import { danglingReference } from '../../format/lance/manifest-references.ts';
import { readManifestFile, type ManifestContent } from '../../format/lance/manifest-file.ts';
import {
  fragmentBytes,
  liveRowCount,
  type LanceFragment,
  type LanceManifest,
} from '../../format/lance/lance-manifest.ts';
import type { KnownManifests } from './known-manifests.ts';
import { vectorType } from '../../request/vector-column.ts';
import { LANCE_DATA, LANCE_DELETIONS } from '../../format/lance/versions.ts';

/** A file that a manifest names. */
export interface ListedFile {
  /** Absolute path. */
  readonly file: string;
  /** Null if the manifest does not say. */
  readonly bytes: bigint | null;
}

/**
 * The files of a fragment that lie in the folder of its own branch.
 * @param line The folder of the branch.
 */
export function filesOfFragment(
  line: string,
  { id, files, deletions }: LanceFragment,
): readonly ListedFile[] {
  const data = files
    .filter(({ base }) => base === undefined)
    .map(({ path, bytes }) => ({ file: fileIn(line, LANCE_DATA, path), bytes }));
  if (deletions === null || deletions.base !== undefined) return data;
  return [...data, { file: fileIn(line, LANCE_DELETIONS, `${id}-${deletions.name}`), bytes: null }];
}

/** The path of a file of a line. Names without a folder need no `join`, which takes most of the time of many files. */
function fileIn(line: string, folder: string, path: string): string {
  const isName = line !== '.' && !path.includes('/') && path !== '.' && path !== '..';
  return isName ? `${line}/${folder}/${path}` : join(line, folder, path);
}

/** A version of a Lance table. */
interface PlacedVersion {
  /** Id of the table. */
  readonly id: string;
  readonly path: ObjectPath;
  /** Absolute path of the table's folder, links resolved. */
  readonly location: string;
  readonly at: Pick<VersionRecord, 'version' | 'manifest'> &
    Partial<Pick<VersionRecord, 'staging'>>;
}

/** The manifest of a version: its absolute path, and its table. */
interface ManifestPlace extends Pick<PlacedVersion, 'path' | 'location'> {
  readonly file: string;
}

/** Top-level columns of a version. */
export interface LanceColumns {
  readonly schema: Schema;
  /** Bytes of a row in the files, about; 0 if there are no rows. */
  readonly rowBytes: number;
  readonly names: readonly string[];
  /** Columns of vectors. */
  readonly vectors: readonly string[];
  /** Columns of texts. */
  readonly texts: readonly string[];
}

/** Versions that are known to be of their own files. */
const MAX_KNOWN = 10_000;
/** Files that are known to be reached through no link. */
const MAX_UNLINKED = 100_000;

/**
 * Requires that versions name files in the folder of their table alone. A manifest may name files of
 * another table, which the right to read its own table does not cover.
 */
export class OwnFiles {
  readonly #storage: Storage;
  readonly #manifests: Pick<KnownManifests, 'of'> | undefined;
  /** By the table and the path of the manifest. Committed manifests do not change. */
  readonly #known = new LRUCache<string, LanceColumns>({ max: MAX_KNOWN });

  /** By their absolute paths: a version shares most of its files with the one before. */
  readonly #unlinked = new LRUCache<string, true>({ max: MAX_UNLINKED });

  /** @param manifests Manifests that were read while they were staged: they are not read again. */
  constructor(storage: Storage, manifests?: Pick<KnownManifests, 'of'>) {
    this.#storage = storage;
    this.#manifests = manifests;
  }

  /**
   * The columns of a version.
   * @throws CatalogError Unsupported for files elsewhere, Internal for an unreadable manifest.
   */
  async require({ id, path, location, at }: PlacedVersion): Promise<LanceColumns> {
    const file = join(location, at.manifest);
    const key = `${id} ${file}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const { staging } = at;
    const staged = staging === undefined ? undefined : this.#manifests?.of({ staging });
    const columns = await this.#columnsOfOwn(staged, { file, location, path }, at.version);
    if (columns === undefined) throw elsewhere(path, at.version);
    this.#known.set(key, columns);
    return columns;
  }

  /** Whether no file of a version is reached through a link; each is looked for in a folder that it may lie in. */
  async #isUnlinked(location: string, line: string, manifest: LanceManifest): Promise<boolean> {
    // An object store has no links.
    if (isObjectKey(location)) return true;
    for (const fragment of manifest.fragments) {
      const files = fragment.files.map(({ path }) => fileIn(line, LANCE_DATA, path));
      const { id, deletions } = fragment;
      if (deletions !== null) files.push(fileIn(line, LANCE_DELETIONS, `${id}-${deletions.name}`));
      for (const each of files) {
        if (this.#unlinked.has(each)) continue;
        const name = relative(location, each);
        const found = await this.#storage.ownership(location, name);
        if (found === 'linked') return false;
        if (found === 'own') this.#unlinked.set(each, true);
      }
    }
    return true;
  }

  async #soundManifest(file: string): Promise<ManifestContent> {
    const content = await readManifestFile(this.#storage, file);
    const fault = danglingReference(content);
    if (fault !== undefined) throw new LanceManifestError(fault);
    return content;
  }

  /** The columns of a version; undefined if it names files elsewhere. */
  async #columnsOfOwn(
    staged: ManifestContent | undefined,
    { file, location, path }: ManifestPlace,
    version: bigint,
  ): Promise<LanceColumns | undefined> {
    try {
      const { manifest } = staged ?? (await this.#soundManifest(file));
      const { bases } =
        manifest.bases.size === 0 ? manifest : await lanceFolders(this.#storage, file, manifest);
      const own = [...bases.values()].every((base) => isWithin(base.path, location));
      if (!own || !manifest.fragments.every(namesPlainFiles)) return undefined;
      const lines = new Set([
        join(file, '..', '..'),
        ...[...bases.values()].map(({ path: at }) => at),
      ]);
      for (const line of lines)
        if (!(await this.#isUnlinked(location, line, manifest))) return undefined;
      return columnsOf(manifest);
    } catch (error) {
      if (!(error instanceof LanceManifestError)) throw error;
      throw new CatalogError(
        'Internal',
        `the manifest of version ${version} of table ${canonicalPath(path)} cannot be read: ${error.message}`,
      );
    }
  }
}

function columnsOf({ fields, fragments }: LanceManifest): LanceColumns {
  const columns = arrowFields(fields);
  const sumOf = (count: (fragment: LanceFragment) => bigint) =>
    fragments.reduce((sum, fragment) => sum + count(fragment), 0n);
  const rows = sumOf(liveRowCount);
  const names = (some: readonly Field[]) => some.map(({ name }) => name);
  const isText = ({ type }: Field) => DataType.isUtf8(type) || DataType.isLargeUtf8(type);
  return {
    schema: new Schema([...columns]),
    rowBytes: rows === 0n ? 0 : Number(sumOf(fragmentBytes) / rows),
    names: names(columns),
    vectors: names(columns.filter((field) => vectorType(field.type) !== null)),
    texts: names(columns.filter(isText)),
  };
}

function elsewhere(path: ObjectPath, version: bigint): CatalogError {
  return new CatalogError(
    'Unsupported',
    `version ${version} of table ${canonicalPath(path)} names files in the folder of another table, or reaches files through links: open it at its location`,
  );
}

function isWithin(folder: string, location: string): boolean {
  return folder === location || folder.startsWith(location + sep);
}

function namesPlainFiles({ files }: LanceFragment): boolean {
  return files.every(({ path }) => !path.startsWith('/') && !leadsUp(path));
}

function leadsUp(path: string): boolean {
  return path.includes('..') && path.split('/').includes('..');
}
