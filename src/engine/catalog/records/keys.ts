import {
  canonicalPath,
  encodeSegment,
  parseCanonicalPath,
  type ObjectPath,
} from '../../../protocol/identifier.ts';

/**
 * Keys of the store. Children stand under their parent in the order of their
 * names: names hold no control character, so the zero byte ends the parent.
 */
function childKey(letter: string, path: ObjectPath): string {
  return `${letter}${placeOf(path)}`;
}

/** The suffix of the key of an object at a path. */
function placeOf(path: ObjectPath): string {
  if (path.length === 1) return `/\u0000${path[0]!}`;
  return `${canonicalPath(path.slice(0, -1))}\u0000${path.at(-1) ?? ''}`;
}

/** The path in the key of a namespace or table: the canonical path of its parent, a zero byte, its name. */
export function pathOfKey(key: string): ObjectPath {
  const end = key.lastIndexOf('\u0000');
  return [...parseCanonicalPath(key.slice(1, end)), key.slice(end + 1)];
}

function childrenPrefix(letter: string, parent: ObjectPath): string {
  return `${letter}${canonicalPath(parent)}\u0000`;
}

/** The range of keys that begin with a prefix. */
export function prefixRange(prefix: string): { readonly start: string; readonly end: string } {
  const last = prefix.charCodeAt(prefix.length - 1);
  return { start: prefix, end: prefix.slice(0, -1) + String.fromCharCode(last + 1) };
}

export const CATALOG_KEY = 'C';

// `K` and keys that begin with it are those of `src/gateway/identity/sealed-keys.ts`: the API keys of the catalog.

export function namespaceKey(path: ObjectPath): string {
  return childKey('N', path);
}

/** The prefix of the keys of the namespaces directly inside another. */
export function namespacesOf(parent: ObjectPath): string {
  return childrenPrefix('N', parent);
}

export function tableKey(path: ObjectPath): string {
  return childKey('T', path);
}

/** The prefix of the keys of the tables directly inside a namespace. */
export function tablesOf(parent: ObjectPath): string {
  return childrenPrefix('T', parent);
}

/**
 * The head of a line of versions: a copy of its newest version record.
 * @param chain `main`, or a branch's id.
 */
export function headKey(tableId: string, chain: string): string {
  return `H${tableId}/${encodeSegment(chain)}`;
}

/**
 * A version of a line. A negative one belongs to no chain and is known by its 64
 * bits: it stands apart, so that nothing that counts or lists the line meets it.
 */
export function versionKey(tableId: string, chain: string, version: bigint): string {
  const line = version < 0n ? `${chain}-detached` : chain;
  const number = BigInt.asUintN(64, version);
  return `${versionsOf(tableId, line)}${number.toString().padStart(20, '0')}`;
}

export function versionsOf(tableId: string, chain: string): string {
  return `${allVersionsOf(tableId)}${encodeSegment(chain)}/`;
}

/** The prefix of the keys of a table's versions on all branches. */
export function allVersionsOf(tableId: string): string {
  return `V${tableId}/`;
}

/** A branch of a table: another line of versions. */
export function branchKey(tableId: string, name: string): string {
  return `${branchesOf(tableId)}${name}`;
}

/** The prefix of the keys of a table's branches, in the order of their names. */
export function branchesOf(tableId: string): string {
  return `B${tableId}/`;
}

/** A table that was dropped and can still be brought back. */
export function droppedKey(tableId: string): string {
  return `D${tableId}`;
}

/** A table that was taken out of the catalog with all its files where they were. */
export function deregisteredKey(tableId: string): string {
  return `R${tableId}`;
}

/** A tag of a table: a name for one of its versions. */
export function tagKey(tableId: string, tag: string): string {
  return `${tagsOf(tableId)}${tag}`;
}

/** The prefix of the keys of a table's tags, in the order of their names. */
export function tagsOf(tableId: string): string {
  return `G${tableId}/`;
}

/** All transactions, in the order in which they began: their ids begin with the time. */
export const TRANSACTIONS = 'X';

export function transactionKey(id: string): string {
  return `${TRANSACTIONS}${id}`;
}

/** The transactions that have not ended, under the same ids. */
export const OPEN_TRANSACTIONS = 'O';

export function openTransactionKey(id: string): string {
  return `${OPEN_TRANSACTIONS}${id}`;
}

/** A dropped table whose files are being removed: it cannot be brought back. */
export function purgedKey(tableId: string): string {
  return `P${tableId}`;
}

/** Versions that were removed and whose files may still be read. */
export function wasteKey(tableId: string, waste: string): string {
  return `${wastesOf(tableId)}${waste}`;
}

/** The prefix of the keys of a table's removed versions. */
export function wastesOf(tableId: string): string {
  return `W${tableId}/`;
}

/** The prefix of the keys of refused external versions. */
export const EXTERNAL = 'E';

/**
 * The version of a line that was written without the catalog and was not adopted.
 * @param chain `main`, or a branch's id.
 */
export function externalKey(tableId: string, chain: string): string {
  return `${EXTERNAL}${tableId}/${encodeSegment(chain)}`;
}

/** The prefixes of all keys that belong to one table and go with it: heads, versions, branches, tags, waste, refused versions. */
export function prefixesOf(tableId: string): readonly string[] {
  return ['H', 'V', 'B', 'G', 'W', EXTERNAL].map((letter) => `${letter}${tableId}/`);
}

/** The prefix of the keys of what requests answered that may be repeated. */
export const ANSWERS = 'A';

/** Key of a repeatable request's answer. @param digest Digest of the request's id, in hexadecimal. */
export function answerKey(digest: string): string {
  return `${ANSWERS}${digest}`;
}
