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
  /** Context of each request with the key, keys in lower case; present if there is any. */
  readonly context?: Readonly<Record<string, string>>;
  /** SHA-256 of the whole key, base64url. The secret has 256 random bits, so a slow hash would add nothing. */
  readonly hash: string;
  /** RFC 3339. */
  readonly created: string;
  readonly expires: string | null;
  readonly revoked: string | null;
  /** When it was frozen, RFC 3339; absent if it is not. */
  readonly frozen?: string;
  /** Number of the change that gave it this state, if gateways share their keys through Redis. */
  readonly change?: number;
}

/** Properties of a new key. */
export interface KeyDetails {
  readonly subject: string;
  readonly roles: readonly string[];
  readonly scopes?: readonly KeyScope[];
  readonly context?: Readonly<Record<string, string>>;
  readonly expires: Date | null;
}

/** A key that was just made. Its text is shown once and never stored. */
export interface MadeKey {
  readonly text: string;
  readonly stored: StoredKey;
}

/** Why a key may not be used. */
export type EndedState = 'frozen' | 'expired' | 'revoked';

type KeyState = 'active' | EndedState;

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
      ...(details.context === undefined ? {} : { context: details.context }),
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
  const { id, subject, roles, scopes = [], context, expires } = key;
  return {
    id,
    subject,
    roles: roles.join(' '),
    scopes: scopes.map(({ action, pattern }) => `${action}:${pattern}`).join(' '),
    context: keyContextTexts(context).join(' '),
    expires: expires ?? 'never',
  };
}

/** The context of a key as it is typed and printed, `KEY=VALUE` each. */
export function keyContextTexts(context: Readonly<Record<string, string>> = {}): readonly string[] {
  return Object.entries(context).map(([key, value]) => `${key}=${value}`);
}

/** Whether a key may be used at a moment. */
export function keyState(key: Omit<StoredKey, 'hash'>, now: Date): KeyState {
  if (key.revoked !== null) return 'revoked';
  if (key.expires !== null && Date.parse(key.expires) <= now.getTime()) return 'expired';
  return key.frozen === undefined ? 'active' : 'frozen';
}

/** The key, no longer valid from this moment on. */
export function revoked(key: StoredKey, now: Date): StoredKey {
  return { ...key, revoked: now.toISOString() };
}

/** The key, refused from this moment on until it is thawed. */
export function frozen(key: StoredKey, now: Date): StoredKey {
  return { ...key, frozen: now.toISOString() };
}

/** The key, no longer frozen. */
export function thawed({ frozen: _frozen, ...key }: StoredKey): StoredKey {
  return key;
}

/** The key of a data folder of its own. */
export function unshared({ change: _change, ...key }: StoredKey): StoredKey {
  return key;
}

/** A change of one key, and the states in which a key can be changed so. */
export interface KeyChange {
  readonly id: string;
  readonly states: readonly KeyState[];
  /** What takes the place of the key. */
  readonly change: (key: StoredKey) => readonly StoredKey[];
}

/** Sentence for an id that no key has. */
export function noKeySentence(id: string): string {
  return `there is no key ${id}: \`arrowgate keys list\` has all of them`;
}

/** Keys of which one was changed, or why it cannot be. */
export function changedKeys(
  keys: readonly StoredKey[],
  { id, states, change }: KeyChange,
): { readonly keys: readonly StoredKey[] } | { readonly fault: string } {
  const found = keys.find((key) => key.id === id);
  if (found === undefined) return { fault: noKeySentence(id) };
  const state = keyState(found, new Date());
  if (!states.includes(state)) return { fault: stateFault(id, state, states) };
  return { keys: keys.flatMap((key) => (key === found ? change(key) : [key])) };
}

function stateFault(id: string, state: KeyState, states: readonly KeyState[]): string {
  if (!states.includes('active')) return `the key ${id} is not frozen, but ${state}`;
  return state === 'frozen' ? endedSentence(id, state) : `the key ${id} is ${state} already`;
}

/** Why a key that has ended is refused, and what can be done. */
export function endedSentence(id: string, state: EndedState): string {
  const thaw =
    state === 'frozen' ? `: an administrator can thaw it with arrowgate keys thaw ${id}` : '';
  return `the key ${id} is ${state}${thaw}`;
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
    ...(key.context === undefined ? {} : { context: key.context }),
  };
}

function successorExpiry(key: StoredKey, now: Date): Date | null {
  if (key.expires === null) return null;
  return new Date(now.getTime() + Date.parse(key.expires) - Date.parse(key.created));
}
