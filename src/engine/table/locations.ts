import { readdir, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CatalogError } from '../../protocol/errors.ts';
import type { Check, Write } from '../../store/store.ts';
import { prefixRange } from '../catalog/keys.ts';

/** Where tables may lie beside the engine's own folder. Absolute paths. */
export interface LocationRules {
  /** Where Lance clients write. */
  readonly managed: string;
  readonly allowed: readonly string[];
}

/**
 * The folder that a client's location stands for: an absolute path or a
 * `file:` URI, links resolved, inside the allowed folders and empty.
 * @throws CatalogError InvalidInput that says which of these it is not.
 */
export async function resolveLocation(location: string, rules: LocationRules): Promise<string> {
  const folder = await withoutLinks(absolutePath(location));
  const roots = await Promise.all([rules.managed, ...rules.allowed].map(withoutLinks));
  if (!roots.some((root) => isInside(folder, root))) {
    throw refused(location, 'lies outside the folders where tables may be');
  }
  if ((await entriesOf(folder)).length > 0) throw refused(location, 'is not an empty folder');
  return folder;
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
  return rest !== '' && !rest.startsWith('..') && !isAbsolute(rest);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function refused(location: string, why: string): CatalogError {
  return new CatalogError('InvalidInput', `the location ${JSON.stringify(location)} ${why}`);
}
