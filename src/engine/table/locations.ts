import { readdir, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CatalogError } from '../../protocol/errors.ts';
import type { Check, Store, Write } from '../../store/store.ts';
import { prefixRange } from '../catalog/keys.ts';

/** Where tables may lie beside the engine's own folder. Absolute paths. */
export interface LocationRules {
  /** Where Lance clients write. */
  readonly managed: string;
  readonly allowed: readonly string[];
}

/** The longest location in bytes: the store's keys hold no more. */
const MAX_BYTES = 1024;
const CONTROL = /\p{Cc}/u;

/**
 * The folder that a client's location stands for: an absolute path or a
 * `file:` URI, links resolved, inside the allowed folders and empty.
 * @throws CatalogError InvalidInput that says which of these it is not.
 */
export async function resolveLocation(location: string, rules: LocationRules): Promise<string> {
  const path = absolutePath(location);
  if (CONTROL.test(path)) throw refused(location, 'holds a control character');
  const folder = await usable(location, withoutLinks(path));
  const bytes = Buffer.byteLength(folder);
  if (bytes > MAX_BYTES) throw refused(location, `has ${bytes} bytes, more than ${MAX_BYTES}`);
  const roots = await Promise.all([rules.managed, ...rules.allowed].map(withoutLinks));
  if (!roots.some((root) => isInside(folder, root))) {
    throw refused(location, 'lies outside the folders where tables may be');
  }
  const entries = await usable(location, entriesOf(folder));
  if (entries.length > 0) throw refused(location, 'is not an empty folder');
  return folder;
}

/**
 * Refuses a folder that lies in a table's folder, or that a table's folder lies in.
 * @throws CatalogError InvalidInput
 */
export async function requireFree(store: Store, folder: string): Promise<void> {
  const inside = await store.range({ ...prefixRange(locationKey(folder)), limit: 1 });
  const around = await store.getMany(ancestors(folder).map(locationKey));
  if (inside.length > 0 || around.some((holder) => holder !== undefined)) {
    throw refused(folder, 'overlaps the location of another table');
  }
}

/** What must hold, and what is written, so that no two tables' folders ever overlap. */
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

/** What is written so that the folder of a table that leaves the catalog is free again. */
export function releaseLocation(folder: string): Write {
  return { key: locationKey(folder), value: null };
}

function locationKey(folder: string): string {
  return `L${folder}/`;
}

function ancestors(folder: string): readonly string[] {
  const parent = dirname(folder);
  return parent === folder ? [] : [parent, ...ancestors(parent)];
}

function absolutePath(location: string): string {
  const path = location.startsWith('file:') ? pathOfUri(location) : location;
  if (!isAbsolute(path)) throw refused(location, 'is neither an absolute path nor a file: URI');
  return resolve(path);
}

function pathOfUri(location: string): string {
  try {
    return fileURLToPath(location);
  } catch {
    throw refused(location, 'is not a file: URI of this machine');
  }
}

/** What the operating system says of a path that it does not take. */
const unusable: ReadonlyMap<string, string> = new Map([
  ['ENOTDIR', 'is not a folder, or lies in something that is none'],
  ['ENAMETOOLONG', 'has a name that is too long'],
  ['ELOOP', 'leads round in links'],
  ['EACCES', 'cannot be looked at'],
]);

async function usable<Found>(location: string, looking: Promise<Found>): Promise<Found> {
  try {
    return await looking;
  } catch (error) {
    const why = unusable.get(codeOf(error) ?? '');
    throw why === undefined ? error : refused(location, why);
  }
}

/** Resolves links of the part of a path that exists; the rest cannot hold any. */
async function withoutLinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (!isMissing(error) || dirname(path) === path) throw error;
    return join(await withoutLinks(dirname(path)), relative(dirname(path), path));
  }
}

async function entriesOf(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function isInside(path: string, folder: string): boolean {
  const rest = relative(folder, path);
  return rest !== '' && rest.split(sep)[0] !== '..' && !isAbsolute(rest);
}

function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT';
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

function refused(location: string, why: string): CatalogError {
  return new CatalogError('InvalidInput', `the location ${JSON.stringify(location)} ${why}`);
}
