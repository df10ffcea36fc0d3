import { dirname, join } from 'node:path';
import type { Store } from '../../../store/store.ts';
import {
  allVersionsOf,
  deregisteredKey,
  droppedKey,
  prefixRange,
  purgedKey,
} from '../../catalog/records/keys.ts';
import type { TableRecord } from '../../format/records.ts';
import { readDetachedSeals } from '../../format/detached-seals.ts';
import { DETACHED_SEALS, FRAGMENTS, INDICES } from '../../format/layout.ts';
import { managedFolder } from '../../versions/lines/locations.ts';
import {
  isClaimed,
  markedLocation,
  removeClaim,
  removeLanceFiles,
} from '../../versions/managed/creation-mark.ts';
import type { RetentionParts } from './parts.ts';

import {
  NOTHING,
  plus,
  type Freed,
  type Storage,
  type StorageEntry,
} from '../../../storage/storage.ts';
import { spareNamed, type RemovalCandidates } from '../../catalog/records/version-walk.ts';
import { spareWaste } from '../../versions/leases/waste.ts';

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
/** A table of the engine, or the mark of a Lance table that is being made. */
const TABLE_FOLDER = new RegExp(`^(${UUID})(\\.lance)?$`);
const DATA_FILE = new RegExp(`^${UUID}\\.`);
const MANIFEST_FILE = new RegExp(`^\\d{20}\\.arrow(?:-${UUID})?$`);

/** A file that no version names. */
export interface Orphan {
  /** Path in the table's folder. */
  readonly file: string;
  readonly bytes: number;
}

/** Whether a file is old enough to be looked at, by when it was written, in milliseconds. */
export type IsOld = (writtenMillis: number) => boolean;

/** The files in a table's folder that no version names and that are old enough. */
export async function orphansOf(
  parts: RetentionParts,
  table: TableRecord,
  isOld: IsOld,
): Promise<readonly Orphan[]> {
  const folder = parts.folder(table);
  const bytes = new Map<string, number>();
  const candidates: RemovalCandidates = { manifests: new Set(), files: new Set() };
  // Files are listed before references: a file that is named later did not exist yet.
  for await (const found of ownFiles(parts.storage, folder)) {
    if (!isOld(found.entry.writtenMillis)) continue;
    bytes.set(found.file, found.entry.bytes);
    candidates[found.kind].add(found.file);
  }
  if (bytes.size === 0) return [];
  await spareWaste(parts.storage, folder, await parts.waste.of(table.id), candidates);
  await spareNamed(parts, table.id, folder, candidates);
  return [...candidates.files, ...candidates.manifests].map((file) => ({
    file,
    bytes: bytes.get(file) ?? 0,
  }));
}

export async function removeOrphans(
  parts: RetentionParts,
  table: TableRecord,
  orphans: readonly Orphan[],
): Promise<Freed> {
  const { storage } = parts;
  const folder = parts.folder(table);
  let freed = NOTHING;
  for (const { file, bytes } of orphans) {
    await storage.remove(join(folder, file));
    // The folder of an index goes with its last file.
    if (file.startsWith(`${INDICES}/`))
      await storage.folders?.removeIfEmpty(join(folder, dirname(file)));
    freed = plus(freed, { files: 1, bytes });
  }
  if (freed.files > 0) await parts.removed();
  return freed;
}

/** Removes the folders of indices that have no file, and had none for long enough. */
export async function removeEmptyIndices(
  storage: Storage,
  folder: string,
  isOld: IsOld,
): Promise<void> {
  for await (const { path, isFolder, writtenMillis } of storage.entries(join(folder, INDICES))) {
    // Those that are not empty stay.
    if (isFolder && isOld(writtenMillis)) await storage.folders?.removeIfEmpty(path);
  }
}

/**
 * Removes the detached seals of a table if none of their files is left. A version that needs a seal
 * names a file, so it is there as long as the version is.
 */
export async function removeIdleSeals(
  storage: Storage,
  folder: string,
  dryRun: boolean,
): Promise<Freed> {
  const seals = await readDetachedSeals(storage, folder);
  for (const file of seals.keys()) {
    if ((await storage.stat(join(folder, file))) !== undefined) return NOTHING;
  }
  return seals.size === 0 ? NOTHING : storage.remove(join(folder, DETACHED_SEALS), dryRun);
}

interface OwnFile {
  readonly kind: keyof RemovalCandidates;
  /** Path in the table's folder. */
  readonly file: string;
  readonly entry: StorageEntry;
}

/** The files of a table whose names this engine gives: what else lies there is none of its business. */
export async function* ownFiles(storage: Storage, folder: string): AsyncGenerator<OwnFile> {
  const places: readonly (readonly [string, keyof RemovalCandidates, RegExp])[] = [
    ['data', 'files', DATA_FILE],
    ['deletions', 'files', DATA_FILE],
    [FRAGMENTS, 'files', DATA_FILE],
    ['versions', 'manifests', MANIFEST_FILE],
  ];
  for (const [inner, kind, name] of places) yield* filesIn(storage, folder, inner, kind, name);
  for await (const index of storage.entries(join(folder, INDICES))) {
    const inner = join(INDICES, nameOf(index));
    if (index.isFolder) yield* filesIn(storage, folder, inner, 'files', DATA_FILE);
  }
  for await (const branch of storage.entries(join(folder, 'tree'))) {
    const inner = join('tree', nameOf(branch), 'versions');
    if (branch.isFolder) yield* filesIn(storage, folder, inner, 'manifests', MANIFEST_FILE);
  }
}

async function* filesIn(
  storage: Storage,
  folder: string,
  inner: string,
  kind: keyof RemovalCandidates,
  name: RegExp,
): AsyncGenerator<OwnFile> {
  for await (const entry of storage.entries(join(folder, inner))) {
    if (entry.isFolder || !name.test(nameOf(entry))) continue;
    yield { kind, file: join(inner, nameOf(entry)), entry };
  }
}

function nameOf({ path }: StorageEntry): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** A folder of a table that never came to be. */
interface LostFolder {
  readonly paths: readonly string[];
  readonly id: string;
  /** The location that was chosen for a Lance table. */
  readonly location?: string | undefined;
  /** Whether its table came to be. */
  readonly isKnown: boolean;
}

type FolderParts = Pick<RetentionParts, 'storage' | 'store' | 'root' | 'managed'>;

/**
 * The folders of tables that no record names and in which everything is old enough, and the marks of
 * Lance tables that were being made, with their folders.
 */
export async function* lostFolders(
  { storage, store, root, managed }: FolderParts,
  isOld: IsOld,
): AsyncGenerator<LostFolder> {
  for await (const entry of storage.entries(root)) {
    const [, id, suffix] = TABLE_FOLDER.exec(nameOf(entry)) ?? [];
    if (!entry.isFolder || id === undefined || !isOld(entry.writtenMillis)) continue;
    const [isMark, known] = [suffix !== undefined, await isKnown(store, id)];
    if (known && !isMark) continue;
    const own = isMark && !known ? [await managedFolder({ storage, managed }, id)] : [];
    const paths = [...own, entry.path];
    const location = isMark ? await markedLocation(storage, entry.path) : undefined;
    const written = known || location === undefined ? paths : [...paths, location];
    if (!(await isAllOld(storage, written, isOld))) continue;
    // A table that came to be since had its folder before, and was at work on it.
    if ((await isKnown(store, id)) !== known) continue;
    yield { paths, id, location, isKnown: known };
  }
}

type RemovalParts = Pick<RetentionParts, 'storage' | 'store' | 'root' | 'retained'>;

/** Removes a folder of a table that never came to be, or says what that would free. */
export async function removeLost(
  { storage, store, root, retained }: RemovalParts,
  { paths, id, location, isKnown: known }: LostFolder,
  dryRun: boolean,
): Promise<Freed> {
  let freed = NOTHING;
  if (location !== undefined) {
    if (!known && (await isClaimed(storage, { location, id })))
      freed = await removeLanceFiles({ storage, store }, location, dryRun);
    freed = plus(freed, await removeClaim(storage, { location, id }, dryRun));
  }
  for (const path of paths)
    freed = plus(freed, await storage.removeTree(path, { dryRun, retained }));
  if (!dryRun) await storage.flush(root);
  return freed;
}

/** Whether anything in the store belongs to a table: every table that came to be has a version. */
async function isKnown(store: Store, id: string): Promise<boolean> {
  const records = await store.getMany([droppedKey(id), deregisteredKey(id), purgedKey(id)]);
  if (records.some((record) => record !== undefined)) return true;
  return (await store.range({ ...prefixRange(allVersionsOf(id)), limit: 1 })).length > 0;
}

async function isAllOld(
  storage: Storage,
  folders: readonly string[],
  isOld: IsOld,
): Promise<boolean> {
  for (const folder of folders) {
    for await (const { writtenMillis } of storage.tree(folder)) {
      if (!isOld(writtenMillis)) return false;
    }
  }
  return true;
}
