import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CatalogError } from '../../../protocol/errors.ts';
import type { Check, Store, Write } from '../../../store/store.ts';
import { prefixRange } from '../../catalog/records/keys.ts';
import { isObjectKey, isPlainKey, keyOfUri, wireLocation } from '../../../storage/object-key.ts';
import { errorCode, isMissing } from '../../../storage/storage-error.ts';
import type { Storage } from '../../../storage/storage.ts';
import { LANCE_VERSIONS, lanceVersions } from '../../format/lance/versions.ts';
import { VERSIONS } from '../../format/layout.ts';

/** Roots of table folders beside the engine's own. Absolute paths, or keys of object stores. */
export interface LocationRules {
  /** Folder in which Lance clients write. */
  readonly managed: string;
  readonly allowed: readonly string[];
  /** Mode of folders that are made for tables there; the umask decides when absent. */
  readonly mode?: number;
}

/** Allowed and forbidden roots of table folders. Absolute paths. */
export interface TableRoots extends LocationRules {
  readonly storage: Storage;
  /** Folders of the service itself; never allowed. */
  readonly own: readonly string[];
}

/** The longest location in bytes: the store's keys hold no more. */
const MAX_BYTES = 1024;
const CONTROL = /\p{Cc}/u;
const NOT_PLAIN =
  'holds characters that clients of object stores write in different ways: use letters, digits and . _ = @ + -';

/**
 * The folder that a client's location stands for: an absolute path, a `file:` URI or the `s3:` URI of
 * an object store, links resolved, inside the allowed folders and empty.
 * @throws CatalogError InvalidInput that says which of these it is not.
 */
export async function resolveLocation(location: string, roots: TableRoots): Promise<string> {
  const folder = await resolveFolder(location, roots);
  const entries = (await usable(location, roots.storage.names(folder))) ?? [];
  if (entries.length > 0) throw notEmpty(location);
  return folder;
}

/** The refusal of a location for a new table. */
export function notEmpty(location: string): CatalogError {
  return refused(location, 'is not an empty folder');
}

/**
 * The folder, under the same rules, of a table that Lance clients wrote.
 * @throws CatalogError InvalidInput that says why it is none.
 */
export async function resolveDataset(location: string, roots: TableRoots): Promise<string> {
  const folder = await resolveFolder(location, roots);
  const entries = await usable(location, roots.storage.names(folder));
  if (entries === undefined) {
    throw refused(location, 'does not exist: DeclareTable makes the place of a new table');
  }
  if ((await usable(location, lanceVersions(roots.storage, folder))).length > 0) return folder;
  throw refused(
    location,
    entries.includes(VERSIONS)
      ? 'holds no table of a Lance client: one that this service wrote cannot be registered'
      : `holds no Lance table: there is no manifest in its folder ${LANCE_VERSIONS}`,
  );
}

/** The folder that a table gets whose creator chose none: one of its own. */
export async function managedFolder(
  { storage, managed }: Pick<TableRoots, 'storage' | 'managed'>,
  tableId: string,
): Promise<string> {
  return join(await withoutLinks(storage, managed), `${tableId}.lance`);
}

/**
 * Makes the folder of a location durably, unless it is there.
 * @throws CatalogError InvalidInput when the operating system does not let it.
 */
export async function makeLocation(
  folder: string,
  { storage, mode }: Pick<TableRoots, 'storage' | 'mode'>,
): Promise<void> {
  await usable(folder, storage.folders?.make(folder, mode) ?? Promise.resolve());
}

const OUTSIDE = 'lies outside the folders where tables may be';

/** A client does not learn why a path elsewhere on the disk cannot be resolved. */
async function unseen(storage: Storage, location: string, path: string): Promise<string> {
  return withoutLinks(storage, path).catch(() => {
    throw refused(location, OUTSIDE);
  });
}

async function resolveFolder(location: string, roots: TableRoots): Promise<string> {
  const path = absolutePath(location);
  if (CONTROL.test(path)) throw refused(location, 'holds a control character');
  if (isObjectKey(path) && !isPlainKey(path)) throw refused(location, NOT_PLAIN);
  const { storage } = roots;
  const withoutLink = (root: string) => withoutLinks(storage, root);
  const configured = [roots.managed, ...roots.allowed];
  const open = await Promise.all(configured.map(withoutLink));
  const mayLook = [...configured, ...open].some((root) => isInside(path, root));
  const folder = await (mayLook
    ? usable(location, withoutLink(path))
    : unseen(storage, location, path));
  const bytes = Buffer.byteLength(folder);
  if (bytes > MAX_BYTES) throw refused(location, `has ${bytes} bytes, more than ${MAX_BYTES}`);
  const own = await Promise.all(roots.own.map(withoutLink));
  if (!open.some((root) => isInside(folder, root)) || own.some((root) => isIn(folder, root))) {
    throw refused(location, OUTSIDE);
  }
  if ([open[0], ...own].some((root) => root !== undefined && isIn(root, folder))) {
    throw refused(location, 'holds folders that the service needs for itself');
  }
  return folder;
}

/**
 * Refuses a folder that lies in a table's folder, or that a table's folder lies in.
 * @throws CatalogError InvalidInput
 */
export async function requireFree(store: Store, folder: string): Promise<void> {
  if (!(await isFree(store, folder)))
    throw refused(folder, 'overlaps the location of another table');
}

/** Whether a folder overlaps with the folder of no table. */
export async function isFree(store: Store, folder: string): Promise<boolean> {
  const inside = await store.range({ ...prefixRange(locationKey(folder)), limit: 1 });
  const around = await store.getMany(ancestors(folder).map(locationKey));
  return inside.length === 0 && around.every((holder) => holder === undefined);
}

/** Checks and writes that keep the folders of tables from overlapping. */
export function reserveLocation(
  folder: string,
  tableId: string,
): { readonly checks: readonly Check[]; readonly writes: readonly Write[] } {
  const key = locationKey(folder);
  const inside: Check = { kind: 'count', ...prefixRange(key), count: 0 };
  const around = ancestors(folder).map((ancestor): Check => ({
    kind: 'value',
    key: locationKey(ancestor),
    value: null,
  }));
  return { checks: [inside, ...around], writes: [{ key, value: Buffer.from(tableId) }] };
}

/** Writes that release the folder of a table that leaves the catalog. */
export function releaseLocation(folder: string): Write {
  return { key: locationKey(folder), value: null };
}

/** The key under which a table holds its folder: its value is the table's id. */
export function locationKey(folder: string): string {
  return `L${folder}/`;
}

function ancestors(folder: string): readonly string[] {
  const parent = dirname(folder);
  return parent === folder ? [] : [parent, ...ancestors(parent)];
}

/**
 * The path that a client's location names, which need not exist.
 * @throws CatalogError InvalidInput for what names none.
 */
export function absolutePath(location: string): string {
  const path = pathOfLocation(location);
  const resolved = resolve(path);
  if (isAbsolute(path) && isObjectKey(path) === isObjectKey(resolved)) return resolved;
  throw refused(location, 'is neither an absolute path nor a file: or s3: URI');
}

function pathOfLocation(location: string): string {
  if (location.startsWith('file:')) return pathOfUri(location);
  return keyOfUri(location) ?? location;
}

function pathOfUri(location: string): string {
  try {
    return fileURLToPath(location);
  } catch {
    throw refused(location, 'is not a file: URI of this machine');
  }
}

/** Messages for the system's errors about a path. */
const unusable: ReadonlyMap<string, string> = new Map([
  ['ENOTDIR', 'is not a folder, or lies in something that is none'],
  ['ENAMETOOLONG', 'has a name that is too long'],
  ['ELOOP', 'leads round in links'],
  ['EACCES', 'is closed to the service'],
]);

async function usable<Found>(location: string, looking: Promise<Found>): Promise<Found> {
  try {
    return await looking;
  } catch (error) {
    const why = unusable.get(errorCode(error) ?? '');
    throw why === undefined ? error : refused(location, why);
  }
}

/** Resolves links of the part of a path that exists; the rest cannot hold any. */
async function withoutLinks(storage: Storage, path: string): Promise<string> {
  try {
    return await storage.resolve(path);
  } catch (error) {
    if (!isMissing(error) || dirname(path) === path) throw error;
    return join(await withoutLinks(storage, dirname(path)), relative(dirname(path), path));
  }
}

/** Whether a path is a folder or lies in it. */
function isIn(path: string, folder: string): boolean {
  return path === folder || isInside(path, folder);
}

/** Whether a path lies below a folder; both absolute. */
export function isInside(path: string, folder: string): boolean {
  const rest = relative(folder, path);
  return rest !== '' && rest.split(sep)[0] !== '..' && !isAbsolute(rest);
}

function refused(location: string, why: string): CatalogError {
  const named = JSON.stringify(wireLocation(location));
  return new CatalogError('InvalidInput', `the location ${named} ${why}`);
}
