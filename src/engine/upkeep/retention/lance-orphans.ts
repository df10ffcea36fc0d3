import { basename, dirname, join } from 'node:path';
import { CatalogError } from '../../../protocol/errors.ts';
import { isAbsent } from '../../../storage/storage-error.ts';
import { NOTHING, plus, type Freed, type Storage } from '../../../storage/storage.ts';
import { lanceFolders, type LanceFolders } from '../../format/lance/lance-folders.ts';
import { LanceManifestError } from '../../format/lance/lance-message.ts';
import { readManifestFile } from '../../format/lance/manifest-file.ts';
import { parseVersionFile } from '../../format/lance/version-file.ts';
import {
  LANCE_DATA,
  LANCE_DELETIONS,
  LANCE_INDICES,
  LANCE_REFS,
  LANCE_TRANSACTIONS,
  namesInFolder,
} from '../../format/lance/versions.ts';
import type { TableRecord } from '../../format/records.ts';
import { SET_ASIDE } from '../../versions/managed/place.ts';
import { versionFolders } from '../../versions/managed/staged-collection.ts';
import type { IsOld, Orphan } from './orphans.ts';

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';

/** Names that Lance gives to files. What has another name stays. */
const names: readonly (readonly [string, RegExp])[] = [
  [LANCE_DATA, /^[0-9a-z-]+\.lance$/],
  [LANCE_DELETIONS, /^\d+-\d+-\d+\.(?:arrow|bin)$/],
  [LANCE_TRANSACTIONS, new RegExp(`^\\d+-${UUID}\\.txn$`)],
  // What the gateway was to rename when it ended.
  ...LANCE_REFS.map((refs) => [refs, new RegExp(`\\.json\\.${UUID}\\.tmp$`)] as const),
];
const INDEX_FOLDER = new RegExp(`^${UUID}$`);

/** How often manifests are listed again because some were renamed or removed meanwhile. */
const MAX_LISTINGS = 5;

/**
 * The files and folders of indices in a Lance table's folder that no manifest in it names, final,
 * staged or detached, of main or of a branch.
 * @param isOld Whether a file was written, or got its name, long enough ago to belong to no commit
 * in progress.
 * @throws CatalogError Internal when a manifest cannot be read: then none is known to be unneeded.
 */
export async function lanceOrphansOf(
  storage: Storage,
  { location }: TableRecord,
  isOld: IsOld,
): Promise<readonly Orphan[]> {
  if (location === null) return [];
  const folder = await storage.resolve(location).catch(unlessAbsent);
  if (folder === undefined) return [];
  // Files are listed before manifests: a file that is named later did not exist yet.
  const candidates = await candidatesIn(storage, folder, isOld);
  for (let listing = 0; candidates.size > 0; listing++) {
    if (listing === MAX_LISTINGS) return [];
    if (await spareNamedFiles(storage, folder, candidates)) break;
  }
  const orphans: Orphan[] = [];
  for (const [path, bytes] of candidates) {
    // A copy keeps the time at which its original was written.
    const stat = await storage.stat(path);
    if (stat === undefined || !isOld(stat.changedMillis)) continue;
    orphans.push({ file: path.slice(folder.length + 1), bytes });
  }
  return orphans;
}

/** Removes such files and folders. */
export async function removeLanceOrphans(
  storage: Storage,
  { location }: TableRecord,
  orphans: readonly Orphan[],
  retained: readonly string[],
): Promise<Freed> {
  let freed = NOTHING;
  if (location === null) return freed;
  for (const { file } of orphans) {
    if ((await storage.ownership(location, file)) !== 'own') continue;
    const path = join(location, file);
    const isIndex = basename(dirname(file)) === LANCE_INDICES;
    const gone = isIndex
      ? await storage.removeTree(path, { retained })
      : await storage.remove(path);
    freed = plus(freed, gone);
  }
  return freed;
}

/** Old files and folders of indices by their absolute paths, with their bytes. */
async function candidatesIn(
  storage: Storage,
  folder: string,
  isOld: IsOld,
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for await (const versions of versionFolders(storage, folder)) {
    const line = dirname(versions);
    for (const [kind, name] of names) {
      for await (const entry of entriesIn(storage, folder, join(line, kind))) {
        const { path, isFolder, writtenMillis, bytes } = entry;
        if (!isFolder && name.test(basename(path)) && isOld(writtenMillis)) found.set(path, bytes);
      }
    }
    for await (const { path, isFolder } of entriesIn(storage, folder, join(line, LANCE_INDICES))) {
      if (!isFolder || !INDEX_FOLDER.test(basename(path))) continue;
      const bytes = await oldBytes(storage, path, isOld);
      if (bytes !== undefined) found.set(path, bytes);
    }
  }
  return found;
}

async function* entriesIn(storage: Storage, location: string, folder: string) {
  if ((await storage.ownership(location, folder)) === 'own') {
    yield* storage.entries(join(location, folder));
  }
}

/** Bytes of a folder whose files are all old; undefined if one is not, or if there is none. */
async function oldBytes(
  storage: Storage,
  folder: string,
  isOld: IsOld,
): Promise<number | undefined> {
  let sum: number | undefined;
  for await (const { bytes, writtenMillis } of storage.entries(folder)) {
    if (!isOld(writtenMillis)) return undefined;
    sum = (sum ?? 0) + bytes;
  }
  return sum;
}

/**
 * Takes the files that manifests name from the candidates, the newest manifests first.
 * @returns Whether all manifests of a listing were read.
 */
async function spareNamedFiles(
  storage: Storage,
  folder: string,
  candidates: Map<string, number>,
): Promise<boolean> {
  const manifests = await manifestsIn(storage, folder);
  for (const { path, isAside } of manifests) {
    const named = await namedBy(storage, path, isAside);
    if (named === undefined) return false;
    for (const file of named) candidates.delete(file);
    if (candidates.size === 0) return true;
  }
  return true;
}

interface ListedManifest {
  readonly path: string;
  readonly version: bigint;
  /** Whether an operator set it aside: it may be any file. */
  readonly isAside: boolean;
}

async function manifestsIn(storage: Storage, folder: string): Promise<readonly ListedManifest[]> {
  const found: ListedManifest[] = [];
  for await (const versions of versionFolders(storage, folder)) {
    for (const name of await namesInFolder(storage, join(folder, versions))) {
      const version = parseVersionFile(name)?.version;
      const path = join(folder, versions, name);
      if (version !== undefined) found.push({ path, version, isAside: false });
    }
    const aside = join(dirname(versions), SET_ASIDE);
    for await (const { path } of entriesIn(storage, folder, aside)) {
      found.push({ path, version: -1n, isAside: true });
    }
  }
  return found.sort((one, other) => (one.version < other.version ? 1 : -1));
}

/** The files that a manifest names; undefined if it is gone. */
async function namedBy(
  storage: Storage,
  path: string,
  isAside: boolean,
): Promise<readonly string[] | undefined> {
  try {
    const { manifest, segments } = await readManifestFile(storage, path);
    const folders = await lanceFolders(storage, path, manifest);
    const { transactionFile } = manifest;
    return [
      ...manifest.fragments.flatMap(({ id, files, deletions }) => [
        ...files.map((file) => placeOf(folders, LANCE_DATA, file.path, file.base)),
        ...(deletions === null
          ? []
          : [placeOf(folders, LANCE_DELETIONS, `${id}-${deletions.name}`, deletions.base)]),
      ]),
      ...segments.map(({ uuid, base }) => placeOf(folders, LANCE_INDICES, uuid, base)),
      ...(transactionFile === null ? [] : [join(folders.own, LANCE_TRANSACTIONS, transactionFile)]),
    ];
  } catch (error) {
    if (isAbsent(error)) return undefined;
    if (!(error instanceof LanceManifestError)) throw error;
    if (isAside) return [];
    throw new CatalogError(
      'Internal',
      `the manifest ${path} cannot be read (${error.message}), so no file of its table is removed`,
    );
  }
}

/** @throws LanceManifestError for a base that the manifest does not define. */
function placeOf(
  { own, bases }: LanceFolders,
  kind: string,
  path: string,
  id: number | undefined,
): string {
  if (id === undefined) return join(own, kind, path);
  const base = bases.get(id);
  if (base === undefined) throw new LanceManifestError(`it has no base ${id}`);
  return base.isTable ? join(base.path, kind, path) : join(base.path, path);
}

function unlessAbsent(error: unknown): undefined {
  if (!isAbsent(error)) throw error;
}
