import type { IncomingHttpHeaders } from 'node:http';
import { CatalogError } from './errors.ts';
import { canonicalPath, checkPath, joinIdentifier, type ObjectPath } from './identifier.ts';
import { decodePercent } from './query.ts';

/** The header that names a database, and the one that names a namespace below it. */
export const DATABASE_HEADER = 'x-lancedb-database';
const DATABASE_PREFIX_HEADER = 'x-lancedb-database-prefix';

/** The namespaces that are the roots of databases, by the names of these. */
export type Databases = ReadonlyMap<string, ObjectPath>;

/** The namespace of the gateway itself: no database moves it. */
export const SYSTEM = 'system';

/** The error for an unknown database, with its name. */
interface UnknownDatabase {
  readonly unknown: string;
}

/** Root of a request's names; absent means the root of the catalog. */
export interface Rooted {
  readonly root?: ObjectPath | undefined;
}

/**
 * The namespace that is the root of what a request names: that of the database in its headers, `[]` without.
 * The headers are ignored where no databases are configured.
 * @throws CatalogError InvalidInput for a prefix without a database, or one that is no path of names.
 */
export function rootOf(
  headers: IncomingHttpHeaders,
  databases: Databases | undefined,
): ObjectPath | UnknownDatabase {
  if (databases === undefined || databases.size === 0) return CATALOG_ROOT;
  const name = headers[DATABASE_HEADER];
  const prefix = headers[DATABASE_PREFIX_HEADER];
  if (typeof name !== 'string') {
    if (prefix === undefined) return CATALOG_ROOT;
    throw new CatalogError(
      'InvalidInput',
      `${DATABASE_PREFIX_HEADER} needs ${DATABASE_HEADER} beside it`,
    );
  }
  const root = databases.get(name);
  if (root === undefined) return { unknown: name };
  return typeof prefix === 'string' ? [...root, ...prefixOf(prefix)] : root;
}

const CATALOG_ROOT: ObjectPath = [];

/** The names of a prefix, percent-encoded and joined by slashes as in an address. */
function prefixOf(text: string): ObjectPath {
  const plain = text.replace(/^\/|\/$/g, '');
  if (plain === '') return [];
  const path = plain.split('/').map(decodePercent);
  checkPath(path);
  return path;
}

/** The object that a name stands for in a request. */
export function rootedPath({ root }: Rooted, path: ObjectPath): ObjectPath {
  if (root === undefined || root.length === 0 || path[0] === SYSTEM) return path;
  const whole = [...root, ...path];
  checkPath(whole);
  return whole;
}

/** The client's name of an object: the inverse of `rootedPath`. */
export function namedPath({ root }: Rooted, path: ObjectPath): ObjectPath {
  if (root === undefined || root.length === 0 || !liesWithin(path, root)) return path;
  return path.slice(root.length);
}

/** Whether an object is the root of a request, or below it. */
export function liesWithin(path: ObjectPath, root: ObjectPath): boolean {
  return path.length >= root.length && root.every((segment, at) => path[at] === segment);
}

/** Whether an object is the root of a request's database. */
export function isDatabaseRoot({ root }: Rooted, path: ObjectPath): boolean {
  return root !== undefined && root.length > 0 && path.length === root.length;
}

const spellings = new WeakMap<ObjectPath, readonly [RegExp, RegExp]>();

/** A sentence whose canonical paths, and names joined with `$`, are those of the request. */
export function namedText({ root }: Rooted, text: string): string {
  if (root === undefined || root.length === 0) return text;
  let found = spellings.get(root);
  if (found === undefined) spellings.set(root, (found = spellingsOf(root)));
  const [paths, identifiers] = found;
  return text.replace(paths, '/').replace(identifiers, '');
}

/** A root before a name, or alone; not inside another name. */
function spellingsOf(root: ObjectPath): readonly [RegExp, RegExp] {
  const path = literal(canonicalPath(root));
  const identifier = literal(`${joinIdentifier(root, '$')}$`);
  return [
    new RegExp(`(?<![\\w.%/-])${path}(?:/|(?![\\w%-]|\\.\\w))`, 'g'),
    new RegExp(`(?<![\\w.%/$-])${identifier}(?=[^\\s"'])`, 'g'),
  ];
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
