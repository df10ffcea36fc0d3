import { hash as hashOnce, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Principal } from '../../protocol/principal.ts';
import { systemErrorCode, fileMark, NO_FILE } from '../http/file-mark.ts';
import { KeyFileError, parseKeys } from './key-document.ts';
import { credentialHash, keyId, keyState, type StoredKey } from './keys.ts';

const LOOK_MILLIS = 100;
const NOBODY = Buffer.alloc(32);
const SALT_BYTES = 32;

/** Result of checking a credential. */
type KeyIdentity =
  | { readonly kind: 'known'; readonly principal: Principal }
  | { readonly kind: 'unknown' }
  /** The secret was right, but the key has ended. */
  | { readonly kind: 'ended'; readonly id: string; readonly state: 'expired' | 'revoked' };

/** The principal of the administrator key of this process. */
export const administrator: Principal = {
  subject: 'user:admin',
  groups: [],
  roles: ['role:admin'],
  credential: { kind: 'key', id: 'admin-key' },
};

const administratorIdentity: KeyIdentity = { kind: 'known', principal: administrator };

/** A key with what is needed of it for each request. */
interface HeldKey {
  readonly key: StoredKey;
  readonly hash: Buffer;
  /** The identity while the key is valid. */
  readonly identity: KeyIdentity;
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
  /** Key of the digests. It is random, so that digests cannot be predicted. */
  readonly #salt = randomBytes(SALT_BYTES).toString('base64url');
  /** Owners of verified credentials since the last read of the file, by salted digest: the administrator or a key. */
  readonly #proven = new Map<string, HeldKey | 'administrator'>();
  #keys: ReadonlyMap<string, HeldKey> = new Map();
  /** Identity of the file at the last read; undefined if it was unreadable. */
  #mark: string | undefined = NO_FILE;
  #looked = Number.NEGATIVE_INFINITY;
  #fault: string | undefined;

  /**
   * `adminKey` is a text that is the administrator's key for this process;
   * `onFault` is called for each unusable state of the file, `onUse` for
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

  /** The principal of a credential. Takes equally long for an unknown id and a wrong secret. */
  identify(text: string): KeyIdentity {
    if (performance.now() - this.#looked > LOOK_MILLIS) this.#look();
    const digest = hashOnce('sha256', this.#salt + text, 'base64url');
    let proven = this.#proven.get(digest);
    if (proven === undefined) {
      proven = this.#prove(text);
      if (proven === undefined) return { kind: 'unknown' };
      this.#proven.set(digest, proven);
    }
    return proven === 'administrator' ? administratorIdentity : this.#judge(proven);
  }

  /** The owner of a credential. Compares in constant time. */
  #prove(text: string): HeldKey | 'administrator' | undefined {
    const hash = credentialHash(text);
    const isAdmin = timingSafeEqual(hash, this.#adminHash ?? NOBODY);
    if (isAdmin && this.#adminHash !== undefined) return 'administrator';
    const id = keyId(text) ?? '';
    return this.#match(id, hash) ?? this.#matchAnew(id, hash);
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

  #judge({ key, identity }: HeldKey): KeyIdentity {
    const now = new Date();
    const state = keyState(key, now);
    if (state !== 'active') return { kind: 'ended', id: key.id, state };
    this.#onUse(key.id, now);
    return identity;
  }

  #look(): void {
    this.#looked = performance.now();
    const mark = fileMark(this.#path);
    if (mark === this.#mark) return;
    this.#mark = mark;
    try {
      this.#keys = mark === NO_FILE ? new Map() : load(this.#path);
      this.#proven.clear();
      this.#fault = undefined;
    } catch (error) {
      if (error instanceof KeyFileError) this.#report(error.message);
      else this.#unread(error);
    }
  }

  /** An unreadable file is tried again at each look, because its mark may not change. Reported once. */
  #unread(error: unknown): void {
    this.#mark = undefined;
    const fault = `${this.#path} cannot be read (${systemErrorCode(error)})`;
    if (fault !== this.#fault) this.#report(fault);
  }

  #report(fault: string): void {
    this.#fault = fault;
    this.#onFault(fault);
  }
}

function load(path: string): ReadonlyMap<string, HeldKey> {
  return new Map(parseKeys(readFileSync(path, 'utf8'), path).map((key) => [key.id, held(key)]));
}

function held(key: StoredKey): HeldKey {
  const identity = { kind: 'known', principal: principalOf(key) } as const;
  return { key, hash: Buffer.from(key.hash, 'base64url'), identity };
}

export function principalOf(key: StoredKey): Principal {
  return {
    subject: key.subject,
    groups: [],
    roles: key.roles,
    credential: { kind: 'key', id: key.id },
    ...(key.scopes === undefined ? {} : { scopes: key.scopes }),
  };
}
