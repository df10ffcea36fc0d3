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

/** A key with what is needed of it for each request. */
interface HeldKey {
  readonly key: StoredKey;
  readonly hash: Buffer;
  readonly principal: Principal;
}

/**
 * The keys in force. The file is looked at again when a tenth of a second has
 * passed, and at once for a text that is no key, so a new key works
 * immediately and a revoked one stops at the next look.
 */
export class KeyRing {
  readonly #path: string;
  readonly #adminHash: Buffer | undefined;
  readonly #onFault: (fault: string) => void;
  readonly #onUse: (id: string, now: Date) => void;
  #keys: ReadonlyMap<string, HeldKey> = new Map();
  #mark = '';
  #looked = Number.NEGATIVE_INFINITY;
  #fault: string | undefined;

  /**
   * `adminKey` is a text that is the administrator's key for this process;
   * `onFault` is told of each state of the file that cannot be used, `onUse` of
   * each use of a key of the file.
   */
  constructor(
    path: string,
    adminKey: string | undefined,
    onFault: (fault: string) => void,
    onUse: (id: string, now: Date) => void = () => undefined,
  ) {
    this.#path = path;
    this.#onFault = onFault;
    this.#onUse = onUse;
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
    if (isAdmin && this.#adminHash !== undefined)
      return { kind: 'known', principal: administrator };
    if (performance.now() - this.#looked > LOOK_MILLIS) this.#look();
    const id = keyId(text) ?? '';
    const held = this.#match(id, hash) ?? this.#matchAnew(id, hash);
    return held === undefined ? { kind: 'unknown' } : this.#judge(held);
  }

  #match(id: string, hash: Buffer): HeldKey | undefined {
    const held = this.#keys.get(id);
    const isKey = timingSafeEqual(hash, held?.hash ?? NOBODY);
    return isKey ? held : undefined;
  }

  /** The same after another look, whether the id was unknown or the secret wrong. */
  #matchAnew(id: string, hash: Buffer): HeldKey | undefined {
    this.#look();
    return this.#match(id, hash);
  }

  #judge({ key, principal }: HeldKey): Identity {
    const now = new Date();
    const state = keyState(key, now);
    if (state !== 'active') return { kind: 'ended', id: key.id, state };
    this.#onUse(key.id, now);
    return { kind: 'known', principal };
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

function load(path: string): ReadonlyMap<string, HeldKey> {
  return new Map(parseKeys(readFileSync(path, 'utf8'), path).map((key) => [key.id, held(key)]));
}

function held(key: StoredKey): HeldKey {
  return { key, hash: Buffer.from(key.hash, 'base64url'), principal: principalOf(key) };
}

function principalOf(key: StoredKey): Principal {
  return {
    subject: key.subject,
    groups: [],
    roles: key.roles,
    credential: { kind: 'key', id: key.id },
    ...(key.scopes === undefined ? {} : { scopes: key.scopes }),
  };
}
