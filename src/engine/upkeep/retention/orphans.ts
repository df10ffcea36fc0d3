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
import { syncFolder } from '../../../storage/folder.ts';
import { INDICES } from '../../format/layout.ts';
import type { RetentionParts } from './parts.ts';
import {
  entriesOf,
  NOTHING,
  plus,
  removeFile,
  removeIfEmpty,
  removeTree,
  treeOf,
} from '../../../storage/tree.ts';

import type { Freed, StorageEntry } from '../../../storage/storage.ts';
import { spareNamed, type Candidates } from '../../catalog/records/version-walk.ts';
import { spareWaste } from '../../versions/leases/waste.ts';

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const TABLE_FOLDER = new RegExp(`^${UUID}$`);
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
  const candidates: Candidates = { manifests: new Set(), files: new Set() };
  // What is there is looked for before what is needed: a file that is named later was not there yet.
  for await (const found of ownFiles(folder)) {
    if (!isOld(found.entry.writtenMillis)) continue;
    bytes.set(found.file, found.entry.bytes);
    candidates[found.kind].add(found.file);
  }
  if (bytes.size === 0) return [];
  await spareWaste(folder, await parts.waste.of(table.id), candidates);
  await spareNamed(parts, table.id, folder, candidates);
  return [...candidates.files, ...candidates.manifests].map((file) => ({
    file,
    bytes: bytes.get(file) ?? 0,
  }));
}

/** Removes orphans. */
export async function removeOrphans(
  parts: RetentionParts,
  table: TableRecord,
  orphans: readonly Orphan[],
): Promise<Freed> {
  const folder = parts.folder(table);
  let freed = NOTHING;
  for (const { file, bytes } of orphans) {
    await removeFile(join(folder, file));
    // The folder of an index goes with its last file.
    if (file.startsWith(`${INDICES}/`)) await removeIfEmpty(join(folder, dirname(file)));
    freed = plus(freed, { files: 1, bytes });
  }
  if (freed.files > 0) await parts.removed();
  return freed;
}

/** Removes the folders of indices that have no file, and had none for long enough. */
export async function removeEmptyIndices(folder: string, isOld: IsOld): Promise<void> {
  for await (const { path, isFolder, writtenMillis } of entriesOf(join(folder, INDICES))) {
    // Those that are not empty stay.
    if (isFolder && isOld(writtenMillis)) await removeIfEmpty(path);
  }
}

interface OwnFile {
  readonly kind: keyof Candidates;
  /** Path in the table's folder. */
  readonly file: string;
  readonly entry: StorageEntry;
}

/** The files of a table whose names this engine gives: what else lies there is none of its business. */
async function* ownFiles(folder: string): AsyncGenerator<OwnFile> {
  const places: readonly (readonly [string, keyof Candidates, RegExp])[] = [
    ['data', 'files', DATA_FILE],
    ['deletions', 'files', DATA_FILE],
    ['versions', 'manifests', MANIFEST_FILE],
  ];
  for (const [inner, kind, name] of places) yield* filesIn(folder, inner, kind, name);
  for await (const index of entriesOf(join(folder, INDICES))) {
    const inner = join(INDICES, nameOf(index));
    if (index.isFolder) yield* filesIn(folder, inner, 'files', DATA_FILE);
  }
  for await (const branch of entriesOf(join(folder, 'tree'))) {
    const inner = join('tree', nameOf(branch), 'versions');
    if (branch.isFolder) yield* filesIn(folder, inner, 'manifests', MANIFEST_FILE);
  }
}

async function* filesIn(
  folder: string,
  inner: string,
  kind: keyof Candidates,
  name: RegExp,
): AsyncGenerator<OwnFile> {
  for await (const entry of entriesOf(join(folder, inner))) {
    if (entry.isFolder || !name.test(nameOf(entry))) continue;
    yield { kind, file: join(inner, nameOf(entry)), entry };
  }
}

function nameOf({ path }: StorageEntry): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** A folder of a table that never came to be. */
export interface LostFolder {
  readonly path: string;
  readonly id: string;
}

/** The folders of tables that no record names and in which everything is old enough. */
export async function* lostFolders(
  { store, root }: Pick<RetentionParts, 'store' | 'root'>,
  isOld: IsOld,
): AsyncGenerator<LostFolder> {
  for await (const entry of entriesOf(root)) {
    const id = nameOf(entry);
    if (!entry.isFolder || !TABLE_FOLDER.test(id) || !isOld(entry.writtenMillis)) continue;
    if ((await isKnown(store, id)) || !(await isAllOld(entry.path, isOld))) continue;
    // A table that came to be since had its folder before, and was at work on it.
    if (!(await isKnown(store, id))) yield { path: entry.path, id };
  }
}

/** Removes a folder of a table that never came to be, or says what that would free. */
export async function removeLost(
  { root, kept }: Pick<RetentionParts, 'root' | 'kept'>,
  { path }: LostFolder,
  dryRun: boolean,
): Promise<Freed> {
  const freed = await removeTree(path, { dryRun, kept });
  if (!dryRun) await syncFolder(root);
  return freed;
}

/** Whether anything in the store belongs to a table: every table that came to be has a version. */
async function isKnown(store: Store, id: string): Promise<boolean> {
  const records = await store.getMany([droppedKey(id), deregisteredKey(id), purgedKey(id)]);
  if (records.some((record) => record !== undefined)) return true;
  return (await store.range({ ...prefixRange(allVersionsOf(id)), limit: 1 })).length > 0;
}

async function isAllOld(folder: string, isOld: IsOld): Promise<boolean> {
  for await (const { writtenMillis } of treeOf(folder)) {
    if (!isOld(writtenMillis)) return false;
  }
  return true;
}
