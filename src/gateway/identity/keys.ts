import { hash, randomBytes, randomInt } from 'node:crypto';
import type { KeyScope } from '../../protocol/principal.ts';

/** A key as it is stored: everything but its secret, of which only a hash is kept. */
export interface StoredKey {
  readonly id: string;
  /** `user:<name>`. */
  readonly subject: string;
  /** `role:<name>` each. */
  readonly roles: readonly string[];
  /** Present when they narrow the key. */
  readonly scopes?: readonly KeyScope[];
  /** SHA-256 of the whole key, base64url. The secret has 256 random bits, so a slow hash would add nothing. */
  readonly hash: string;
  /** RFC 3339. */
  readonly created: string;
  readonly expires: string | null;
  readonly revoked: string | null;
}

/** Properties of a new key. */
export interface KeyDetails {
  readonly subject: string;
  readonly roles: readonly string[];
  readonly scopes?: readonly KeyScope[];
  readonly expires: Date | null;
}

/** A key that was just made. Its text is shown once and never stored. */
export interface MadeKey {
  readonly text: string;
  readonly stored: StoredKey;
}

type KeyState = 'active' | 'expired' | 'revoked';

const SHAPE = /^agk_([a-z0-9]{8,16})_[A-Za-z0-9_-]{43}$/;
const ID_LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
const ID_LENGTH = 12;
const SECRET_BYTES = 32;

/** The id inside the text of a key (`agk_<id>_<secret>`), or undefined if the text is no key. */
export function keyId(text: string): string | undefined {
  return SHAPE.exec(text)?.[1];
}

/** SHA-256 of a credential's text. */
export function credentialHash(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/** Makes a key with a random id and a random secret. */
export function makeKey(details: KeyDetails, now: Date): MadeKey {
  const id = randomId();
  const text = `agk_${id}_${randomBytes(SECRET_BYTES).toString('base64url')}`;
  return {
    text,
    stored: {
      id,
      subject: details.subject,
      roles: details.roles,
      ...(details.scopes === undefined ? {} : { scopes: details.scopes }),
      hash: credentialHash(text).toString('base64url'),
      created: now.toISOString(),
      expires: details.expires?.toISOString() ?? null,
      revoked: null,
    },
  };
}

function randomId(): string {
  return Array.from({ length: ID_LENGTH }, () => ID_LETTERS[randomInt(ID_LETTERS.length)]).join('');
}

/** What the audit record of a new key says of it. */
export function createdKeyDetails(key: StoredKey): Readonly<Record<string, string>> {
  const { id, subject, roles, scopes = [], expires } = key;
  return {
    id,
    subject,
    roles: roles.join(' '),
    scopes: scopes.map(({ action, pattern }) => `${action}:${pattern}`).join(' '),
    expires: expires ?? 'never',
  };
}

/** Whether a key may be used at a moment. */
export function keyState(key: StoredKey, now: Date): KeyState {
  if (key.revoked !== null) return 'revoked';
  if (key.expires !== null && Date.parse(key.expires) <= now.getTime()) return 'expired';
  return 'active';
}

/** The key, no longer valid from this moment on. */
export function revoked(key: StoredKey, now: Date): StoredKey {
  return { ...key, revoked: now.toISOString() };
}

/**
 * A successor with the same rights, and the old key with an end: both are valid
 * for the overlap, so that no client is locked out while the new one is handed
 * round. A key that was made to live for some time gives its successor as long.
 */
export function rotated(
  key: StoredKey,
  overlapMillis: number,
  now: Date,
): { readonly old: StoredKey; readonly made: MadeKey } {
  const made = makeKey({ ...detailsOf(key), expires: successorExpiry(key, now) }, now);
  const end = new Date(now.getTime() + overlapMillis);
  const sooner = key.expires !== null && Date.parse(key.expires) < end.getTime();
  return { old: sooner ? key : { ...key, expires: end.toISOString() }, made };
}

function detailsOf(key: StoredKey): Omit<KeyDetails, 'expires'> {
  return {
    subject: key.subject,
    roles: key.roles,
    ...(key.scopes === undefined ? {} : { scopes: key.scopes }),
  };
}

function successorExpiry(key: StoredKey, now: Date): Date | null {
  if (key.expires === null) return null;
  return new Date(now.getTime() + Date.parse(key.expires) - Date.parse(key.created));
}
