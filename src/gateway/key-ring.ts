import { timingSafeEqual } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import type { Principal } from '../protocol/principal.ts';
import { KeyFileError, parseKeys } from './key-document.ts';
import { credentialHash, keyId, keyState, type StoredKey } from './keys.ts';

const LOOK_MILLIS = 100;
const NOBODY = Buffer.alloc(32);

/** What a credential turned out to be. */
export type Identity =
  | { readonly kind: 'known'; readonly principal: Principal }
  | { readonly kind: 'unknown' }
  /** The secret was right, but the key has ended. */
  | { readonly kind: 'ended'; readonly id: string; readonly state: 'expired' | 'revoked' };

/** The principal of whoever holds the administrator key of this process. */
export const administrator: Principal = {
  subject: 'user:admin',
  groups: [],
  roles: ['role:admin'],
  credential: { kind: 'key', id: 'admin-key' },
};

/**
 * The keys in force. The file is looked at again when a tenth of a second has
 * passed, and at once for an id that is not known, so a new key works
 * immediately and a revoked one stops at the next look.
 */
export class KeyRing {
  readonly #path: string;
  readonly #adminHash: Buffer | undefined;
  readonly #onFault: (fault: string) => void;
  #keys: ReadonlyMap<string, StoredKey> = new Map();
  #mark = '';
  #looked = Number.NEGATIVE_INFINITY;
  #fault: string | undefined;

  /**
   * `adminKey` is a text that is the administrator's key for this process;
   * `onFault` is told of each state of the file that cannot be used.
   */
  constructor(path: string, adminKey: string | undefined, onFault: (fault: string) => void) {
    this.#path = path;
    this.#onFault = onFault;
    this.#adminHash = adminKey === undefined ? undefined : credentialHash(adminKey);
    this.#look();
  }

  /** Why the file as it stands now is not used: the keys of the last good one stay in force. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Who a credential stands for. Takes as long for an unknown id as for a wrong secret. */
  identify(text: string): Identity {
    const hash = credentialHash(text);
    const isAdmin = timingSafeEqual(hash, this.#adminHash ?? NOBODY);
    const key = this.#find(keyId(text));
    const isKey = timingSafeEqual(hash, key === undefined ? NOBODY : hashOf(key));
    if (isAdmin && this.#adminHash !== undefined)
      return { kind: 'known', principal: administrator };
    if (!isKey || key === undefined) return { kind: 'unknown' };
    const state = keyState(key, new Date());
    return state === 'active'
      ? { kind: 'known', principal: principalOf(key) }
      : { kind: 'ended', id: key.id, state };
  }

  #find(id: string | undefined): StoredKey | undefined {
    if (id === undefined) return undefined;
    if (!this.#keys.has(id) || performance.now() - this.#looked > LOOK_MILLIS) this.#look();
    return this.#keys.get(id);
  }

  #look(): void {
    this.#looked = performance.now();
    const mark = markOf(this.#path);
    if (mark === this.#mark) return;
    this.#mark = mark;
    try {
      this.#keys = mark === '' ? new Map() : load(this.#path);
      this.#fault = undefined;
    } catch (error) {
      const fault = error instanceof KeyFileError ? error.message : `${this.#path} cannot be read`;
      this.#fault = fault;
      this.#onFault(fault);
    }
  }
}

/** Changes whenever the file is replaced or written; empty when there is none. */
function markOf(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}`;
}

function load(path: string): ReadonlyMap<string, StoredKey> {
  return new Map(parseKeys(readFileSync(path, 'utf8'), path).map((key) => [key.id, key]));
}

function hashOf(key: StoredKey): Buffer {
  return Buffer.from(key.hash, 'base64url');
}

/** The principals of the keys: one object each, by which others know what they have worked out for it. */
const principals = new WeakMap<StoredKey, Principal>();

function principalOf(key: StoredKey): Principal {
  const known = principals.get(key);
  if (known !== undefined) return known;
  const principal = principalFor(key);
  principals.set(key, principal);
  return principal;
}

function principalFor(key: StoredKey): Principal {
  return {
    subject: key.subject,
    groups: [],
    roles: key.roles,
    credential: { kind: 'key', id: key.id },
    ...(key.scopes === undefined ? {} : { scopes: key.scopes }),
  };
}
