import type { Act } from '../audit/record/administrative.ts';
import { KeyFileError } from '../gateway/identity/key-document.ts';
import type { KeyBook } from '../gateway/identity/key-book.ts';
import {
  changedKeys,
  createdKeyDetails,
  keyState,
  makeKey,
  revoked,
  rotated,
  type KeyChange,
  type MadeKey,
  type StoredKey,
} from '../gateway/identity/keys.ts';
import type { Recorded } from '../gateway/decision/steps.ts';
import { typedScope } from '../policy/lines/scopes.ts';
import { typedName, type Typed } from '../policy/lines/typed-name.ts';
import { CatalogError } from '../protocol/errors.ts';
import { LONGEST_MILLIS, parseDuration } from '../protocol/units.ts';
import { callerAct } from './caller-act.ts';
import { jsonBody } from './json-body.ts';

/** The result of an act, with what is known only at its end. */
interface Done<Result> {
  readonly result: Result;
  readonly details?: Readonly<Record<string, string>>;
}

/** The keys of the service. */
export interface KeyAccess {
  readonly book: KeyBook;
  /**
   * Does something between the records of its attempt and its outcome.
   * @throws CatalogError ServiceUnavailable if it cannot be recorded
   */
  readonly act: <Result>(act: Act, work: () => Promise<Done<Result>>) => Promise<Result>;
}

interface KeyCall {
  readonly keys: KeyAccess;
  readonly recorded: Recorded;
  readonly query: URLSearchParams;
}

/** Keys of a page. */
const PAGE = 100;
/** Overlap of a rotation where none is named. */
const OVERLAP = '24h';

/** A page of keys without their secrets, the newest first, and whether the caller may change them. */
export async function listedKeys({ keys, recorded, query }: KeyCall): Promise<object> {
  const now = new Date();
  const [stored, uses] = await Promise.all([keys.book.read(), keys.book.uses()]);
  const first = firstOf(query.get('first'));
  const found = stored
    .map((key) => ({ key, state: keyState(key, now) }))
    .filter(({ key, state }) => isMeant(key, state, query))
    .sort((one, other) => (one.key.created < other.key.created ? 1 : -1));
  const page = found.slice(first, first + PAGE).map(({ key: { hash: _hash, ...key }, state }) => ({
    ...key,
    scopes: (key.scopes ?? []).map(({ action, pattern }) => `${action}:${pattern}`),
    last_used: uses.get(key.id) ?? null,
    state,
  }));
  return {
    keys: page,
    total: found.length,
    next: first + PAGE < found.length ? first + PAGE : null,
    may_manage: recorded.permit.holds('manage', []),
  };
}

function isMeant({ id, subject, roles }: StoredKey, state: string, query: URLSearchParams) {
  const text = query.get('text')?.trim() ?? '';
  const wanted = query.get('state') ?? '';
  if (wanted !== '' && wanted !== state) return false;
  return [id, subject, ...roles].some((each) => each.includes(text));
}

function firstOf(typed: string | null): number {
  if (typed === null) return 0;
  if (/^\d{1,7}$/.test(typed)) return Number(typed);
  throw invalid(`first is ${JSON.stringify(typed)}, but must be the number of a key`);
}

const NEW_KEY =
  'the body must be {"subject": "…", "roles": ["…"], "scopes": ["ACTION:PATTERN"], "expires": "90d"}, as application/json; all but subject may be absent';

/** Makes a key. Its text is answered once. @throws CatalogError PermissionDenied, InvalidInput */
export async function createdKey({ keys, recorded }: KeyCall): Promise<object> {
  recorded.permit.require('manage', []);
  const {
    subject,
    roles = [],
    scopes = [],
    expires = null,
    ...others
  } = await jsonBody(recorded, NEW_KEY);
  const isWhole = Object.keys(others).length === 0 && typeof subject === 'string';
  if (!isWhole || !isTexts(roles) || !isTexts(scopes)) throw invalid(NEW_KEY);
  const now = new Date();
  const life = expires === null ? null : millisOf('expires', expires);
  const meant = scopes.map((scope) => valueOf(typedScope(scope)));
  const made = makeKey(
    {
      subject: valueOf(typedName('user', subject)),
      roles: roles.map((role) => valueOf(typedName('role', role))),
      ...(meant.length === 0 ? {} : { scopes: meant }),
      expires: life === null ? null : new Date(now.getTime() + life),
    },
    now,
  );
  const act = callerAct(recorded, 'KeysCreate', createdKeyDetails(made.stored));
  await keys.act(act, async () => {
    await changed(keys, (stored) => [...stored, made.stored]);
    return { result: undefined };
  });
  return shown(made);
}

const ROTATION = 'the body must be {"id": "…", "overlap": "24h"}, as application/json';

/** Makes a successor of a key, which ends after the overlap. @throws CatalogError PermissionDenied, InvalidInput */
export async function rotatedKey({ keys, recorded }: KeyCall): Promise<object> {
  recorded.permit.require('manage', []);
  const { id, overlap = OVERLAP, ...others } = await jsonBody(recorded, ROTATION);
  if (typeof id !== 'string' || Object.keys(others).length > 0) throw invalid(ROTATION);
  const millis = millisOf('overlap', overlap);
  const act = callerAct(recorded, 'KeysRotate', { id, overlap: String(overlap) });
  const now = new Date();
  return keys.act(act, async () => {
    let made: MadeKey | undefined;
    const change = (key: StoredKey) => {
      const pair = rotated(key, millis, now);
      made = pair.made;
      return [pair.old, pair.made.stored];
    };
    await changed(keys, (stored) => withChange(stored, { id, states: ['active'], change }));
    return { result: shown(made!), details: { successor: made!.stored.id } };
  });
}

const REVOCATION = 'the body must be {"id": "…"}, as application/json';

/** Ends a key at once. @throws CatalogError PermissionDenied, InvalidInput */
export async function revokedKey({ keys, recorded }: KeyCall): Promise<object> {
  recorded.permit.require('manage', []);
  const { id, ...others } = await jsonBody(recorded, REVOCATION);
  if (typeof id !== 'string' || Object.keys(others).length > 0) throw invalid(REVOCATION);
  const now = new Date();
  await keys.act(callerAct(recorded, 'KeysRevoke', { id }), async () => {
    const change = (key: StoredKey) => [revoked(key, now)];
    const states = ['active', 'frozen'] as const;
    await changed(keys, (stored) => withChange(stored, { id, states, change }));
    return { result: undefined };
  });
  return { revoked: id };
}

/** Keys of which one was changed. @throws CatalogError InvalidInput if it cannot be changed so */
function withChange(stored: readonly StoredKey[], change: KeyChange): readonly StoredKey[] {
  const found = changedKeys(stored, change);
  if ('fault' in found) throw invalid(found.fault);
  return found.keys;
}

/** @throws CatalogError ServiceUnavailable if the keys cannot be changed now */
async function changed(
  { book }: KeyAccess,
  change: (stored: readonly StoredKey[]) => readonly StoredKey[],
): Promise<void> {
  try {
    await book.update(change);
  } catch (error) {
    if (!(error instanceof KeyFileError)) throw error;
    throw new CatalogError('ServiceUnavailable', `the keys cannot be changed: ${error.message}`);
  }
}

function shown({ text, stored: { id, subject, expires } }: MadeKey): object {
  return { id, subject, expires, key: text };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

function millisOf(name: string, typed: unknown): number {
  const millis = typeof typed === 'string' ? parseDuration(typed) : undefined;
  if (millis !== undefined && millis <= LONGEST_MILLIS) return millis;
  throw invalid(
    `${name} is ${JSON.stringify(typed)}, but must be a duration such as 24h or 90d, of at most ${LONGEST_MILLIS / 86_400_000}d`,
  );
}

function valueOf<Value>(typed: Typed<Value>): Value {
  if ('fault' in typed) throw invalid(typed.fault);
  return typed.value;
}

function invalid(sentence: string): CatalogError {
  return new CatalogError('InvalidInput', sentence);
}
