import type { KeyScope } from '../../protocol/principal.ts';
import type { StoredKey } from './keys.ts';

/** A keys file that cannot be read, written or understood. */
export class KeyFileError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'KeyFileError';
  }
}

/** The format of the keys file that is written and read. */
export const FORMAT = 1;

/** Parses a keys file. @throws KeyFileError naming the invalid key and field. */
export function parseKeys(text: string, path: string): readonly StoredKey[] {
  return keysOf(parseDocument(text, path), path);
}

/** The copy of shared keys in a text; undefined for a file with keys of its own. @throws KeyFileError */
export function parseCopy(
  text: string,
  path: string,
): { readonly change: number; readonly keys: readonly StoredKey[] } | undefined {
  const document = parseDocument(text, path);
  const { shared } = document;
  return shared === undefined
    ? undefined
    : { change: changeOf(shared, path), keys: keysOf(document, path) };
}

function keysOf(document: KeyDocument, path: string): readonly StoredKey[] {
  const keys = document.keys.map((key, index) => storedKeyOf(key, `${path}: key ${index + 1}`));
  const ids = new Set(keys.map((key) => key.id));
  if (ids.size !== keys.length) throw new KeyFileError(`${path} holds two keys with one id`);
  return keys;
}

/**
 * The number of the last change of keys that gateways share, of a file that is a copy of them;
 * undefined for a file with keys of its own. @throws KeyFileError
 */
export function sharedChange(text: string, path: string): number | undefined {
  const { shared } = parseDocument(text, path);
  return shared === undefined ? undefined : changeOf(shared, path);
}

interface KeyDocument {
  readonly keys: readonly unknown[];
  /** Number of the last change, in a copy of shared keys. */
  readonly shared?: unknown;
}

function parseDocument(text: string, path: string): KeyDocument {
  const document = jsonOf(text, path);
  if (!isRecord(document)) throw new KeyFileError(`${path} is not a JSON object`);
  if (document['format'] !== FORMAT) {
    throw new KeyFileError(
      `${path} has format ${String(document['format'])}; this version reads ${FORMAT}`,
    );
  }
  const keys = document['keys'];
  if (!Array.isArray(keys)) throw new KeyFileError(`${path} has no list "keys"`);
  return { keys, shared: document['shared'] };
}

function jsonOf(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new KeyFileError(`${path} is not valid JSON`);
  }
}

const ID = /^[a-z0-9]{8,16}$/;
const SUBJECT = /^user:./;
const ROLE = /^role:./;
const HASH = /^[A-Za-z0-9_-]{43}$/;

/** Checks a key. @param where Names the key in errors. @throws KeyFileError naming the invalid field */
export function storedKeyOf(value: unknown, where: string): StoredKey {
  if (!isRecord(value)) throw new KeyFileError(`${where} is not an object`);
  const { scopes, frozen, context, change } = value;
  return {
    id: matching(value, 'id', ID, where),
    subject: matching(value, 'subject', SUBJECT, where),
    roles: rolesOf(value, where),
    ...(scopes === undefined ? {} : { scopes: scopesOf(scopes, where) }),
    ...(context === undefined ? {} : { context: contextIn(context, where) }),
    hash: matching(value, 'hash', HASH, where),
    created: timeOf(value, 'created', where),
    expires: value['expires'] === null ? null : timeOf(value, 'expires', where),
    revoked: value['revoked'] === null ? null : timeOf(value, 'revoked', where),
    ...(frozen === undefined ? {} : { frozen: timeOf(value, 'frozen', where) }),
    ...(change === undefined ? {} : { change: changeOf(change, where) }),
  };
}

function changeOf(value: unknown, where: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
  throw new KeyFileError(`${where} has no valid "change"`);
}

function rolesOf(value: Record<string, unknown>, where: string): readonly string[] {
  const roles = value['roles'];
  if (Array.isArray(roles) && roles.every((role) => typeof role === 'string' && ROLE.test(role))) {
    return roles;
  }
  throw new KeyFileError(`${where} has no valid "roles"`);
}

function scopesOf(value: unknown, where: string): readonly KeyScope[] {
  if (Array.isArray(value) && value.every(isScope)) return value;
  throw new KeyFileError(`${where} has no valid "scopes"`);
}

/** A key of the context of an API key. */
export const CONTEXT_KEY = /^[a-z0-9][a-z0-9_-]{0,63}$/;

function contextIn(value: unknown, where: string): Readonly<Record<string, string>> {
  const entries: readonly (readonly [string, unknown])[] = isRecord(value)
    ? Object.entries(value)
    : [['', '']];
  if (entries.every(([key, text]) => CONTEXT_KEY.test(key) && typeof text === 'string')) {
    return Object.fromEntries(entries) as Readonly<Record<string, string>>;
  }
  throw new KeyFileError(`${where} has no valid "context"`);
}

function isScope(value: unknown): value is KeyScope {
  return (
    isRecord(value) && typeof value['action'] === 'string' && typeof value['pattern'] === 'string'
  );
}

function matching(
  value: Record<string, unknown>,
  name: string,
  shape: RegExp,
  where: string,
): string {
  const text = value[name];
  if (typeof text === 'string' && shape.test(text)) return text;
  throw new KeyFileError(`${where} has no valid "${name}"`);
}

function timeOf(value: Record<string, unknown>, name: string, where: string): string {
  const text = value[name];
  if (typeof text === 'string' && !Number.isNaN(Date.parse(text))) return text;
  throw new KeyFileError(`${where} has no valid "${name}"`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
