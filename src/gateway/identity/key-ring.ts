import { timingSafeEqual } from 'node:crypto';
import { statSync } from 'node:fs';
import type { MaybePromise } from '../../protocol/maybe-promise.ts';
import type { Principal } from '../../protocol/principal.ts';
import { runOnThread } from '../../protocol/thread-run.ts';
import { fileMark, NO_FILE } from '../http/file-mark.ts';
import { CredentialDigests } from './credential-digests.ts';
import { KeyTable, readKeyArrays, type KeyReading } from './key-table.ts';
import { credentialHash, keyId, keyState, type EndedState, type StoredKey } from './keys.ts';

const LOOK_MILLIS = 100;
/** A file up to this size is read at once, in a few milliseconds; a larger one on a thread. */
const SMALL_BYTES = 256 * 2 ** 10;
/** Maximum duration of the reading of a large file, in ms. The last good keys stay when it ends. */
export const KEY_READING_MILLIS = 60_000;
/** How long keys that are known stay valid while a changed file is read, in ms; later requests wait for it. */
const STALE_MILLIS = 500;
const THREAD = new URL('../../../dist/gateway/identity/key-thread.js', import.meta.url);
const NOBODY = Buffer.alloc(32);

/** Result of checking a credential. */
export type KeyIdentity =
  | { readonly kind: 'known'; readonly principal: Principal }
  | { readonly kind: 'unknown' }
  /** The secret was right, but the key has ended. */
  | { readonly kind: 'ended'; readonly id: string; readonly state: EndedState }
  /** Keys cannot be judged now. */
  | { readonly kind: 'closed'; readonly reason: string };

/** The principal of the administrator key of this process. */
export const administrator: Principal = {
  subject: 'user:admin',
  groups: [],
  roles: ['role:admin'],
  credential: { kind: 'key', id: 'admin-key' },
};

/** Where keys come from of which the file is a copy. */
export interface KeyOrigin {
  /** Why no key of the file is accepted now; undefined while they are. */
  closed(): string | undefined;
  /** What is wrong with the origin. */
  fault(): string | undefined;
}

const ownFile: KeyOrigin = { closed: () => undefined, fault: () => undefined };

const administratorIdentity: KeyIdentity = { kind: 'known', principal: administrator };

/** A key with what is needed of it for each request. */
interface HeldKey {
  readonly key: StoredKey;
  /** The identity while the key is valid. */
  readonly identity: KeyIdentity;
}

/**
 * The keys in force. The file is looked at again when a tenth of a second has
 * passed, and at once for a text that is no key, so a new key works
 * immediately and a revoked one stops at the next look. A large file is read
 * on a thread: unknown keys wait for it, known ones after half a second.
 */
export class KeyRing {
  readonly #path: string;
  readonly #adminHash: Buffer | undefined;
  readonly #onFault: (fault: string) => void;
  readonly #onUse: (id: string, now: Date) => void;
  readonly #origin: KeyOrigin;
  readonly #digests = new CredentialDigests();
  /** Owners of verified credentials since the last read of the file, by salted digest: the administrator or a key. */
  readonly #proven = new Map<string, HeldKey | 'administrator'>();
  #keys = KeyTable.empty;
  /** The reading of a large file, and when it began. Never rejects. */
  #loading: { readonly done: Promise<void>; readonly began: number } | undefined;
  /** Identity of the file at the last read; undefined if it was unreadable. */
  #mark: string | undefined = NO_FILE;
  #looked = Number.NEGATIVE_INFINITY;
  #fault: string | undefined;

  /**
   * `adminKey` is a text that is the administrator's key for this process;
   * `onFault` is called for each unusable state of the file, `onUse` for
   * each use of a key of the file. `origin` is where the file comes from, if it
   * is a copy.
   */
  constructor(
    path: string,
    adminKey: string | undefined,
    onFault: (fault: string) => void,
    onUse: (id: string, now: Date) => void = () => undefined,
    origin: KeyOrigin = ownFile,
  ) {
    this.#path = path;
    this.#onFault = onFault;
    this.#onUse = onUse;
    this.#origin = origin;
    this.#adminHash = adminKey === undefined ? undefined : credentialHash(adminKey);
    this.#look();
  }

  /**
   * Why the file as it stands now is not used, while the keys of the last good one stay in force; or what is wrong
   * with its origin.
   */
  get fault(): string | undefined {
    return this.#fault ?? this.#origin.fault();
  }

  /** When the next key in force expires, in ms since 1970; undefined if none will. */
  get nextExpiry(): number | undefined {
    this.#look();
    return this.#keys.nextExpiry(Date.now());
  }

  /**
   * The principal of a credential. Takes equally long for an unknown id and a wrong secret.
   * @param connection The connection that it came on, if any.
   */
  identify(text: string, connection?: object): MaybePromise<KeyIdentity> {
    if (performance.now() - this.#looked > LOOK_MILLIS) this.#look();
    const loading = this.#loading;
    if (loading !== undefined && performance.now() - loading.began > STALE_MILLIS) {
      return this.#later(text, loading.done);
    }
    const digest = this.#digests.of(text, connection);
    let proven = this.#proven.get(digest);
    if (proven === undefined) {
      proven = this.#prove(text);
      if (proven === undefined) {
        if (this.#loading !== undefined) return this.#later(text, this.#loading.done);
        return this.#closedOr({ kind: 'unknown' });
      }
      this.#proven.set(digest, proven);
    }
    return proven === 'administrator' ? administratorIdentity : this.#judge(proven);
  }

  async #later(text: string, loaded: Promise<void>): Promise<KeyIdentity> {
    await loaded;
    return this.identify(text);
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
    const number = this.#keys.find(id);
    const isKey = timingSafeEqual(hash, number === undefined ? NOBODY : this.#keys.hash(number));
    return isKey && number !== undefined ? held(this.#keys.key(number)) : undefined;
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
    const found = this.#closedOr(identity);
    if (found === identity) this.#onUse(key.id, now);
    return found;
  }

  #closedOr(identity: KeyIdentity): KeyIdentity {
    const reason = this.#origin.closed();
    return reason === undefined ? identity : { kind: 'closed', reason };
  }

  #look(): void {
    this.#looked = performance.now();
    if (this.#loading !== undefined) return;
    const mark = fileMark(this.#path);
    if (mark === this.#mark) return;
    this.#mark = mark;
    if (mark === NO_FILE) this.#replace(KeyTable.empty);
    else if (!isLarge(this.#path)) this.#take(readKeyArrays(this.#path));
    else this.#load();
  }

  #load(): void {
    const run = { module: THREAD, data: this.#path, name: `the reading of ${this.#path}` };
    const done = runOnThread<KeyReading>({ ...run, millis: KEY_READING_MILLIS })
      .catch((error: unknown): KeyReading => ({ kind: 'unread', fault: String(error) }))
      .then((reading) => {
        this.#loading = undefined;
        this.#take(reading);
      });
    this.#loading = { done, began: performance.now() };
  }

  #take(reading: KeyReading): void {
    if (reading.kind === 'keys') this.#replace(new KeyTable(reading.keys));
    else if (reading.kind === 'invalid') this.#report(reading.fault);
    else this.#unread(reading.fault);
  }

  #replace(keys: KeyTable): void {
    this.#keys = keys;
    this.#proven.clear();
    this.#fault = undefined;
  }

  /** An unreadable file is tried again at each look, because its mark may not change. Reported once. */
  #unread(fault: string): void {
    this.#mark = undefined;
    if (fault !== this.#fault) this.#report(fault);
  }

  #report(fault: string): void {
    this.#fault = fault;
    this.#onFault(fault);
  }
}

function isLarge(path: string): boolean {
  try {
    return statSync(path).size > SMALL_BYTES;
  } catch {
    return false;
  }
}

function held(key: StoredKey): HeldKey {
  return { key, identity: { kind: 'known', principal: principalOf(key) } };
}

export function principalOf(key: Omit<StoredKey, 'hash'>): Principal {
  return {
    subject: key.subject,
    groups: [],
    roles: key.roles,
    credential: { kind: 'key', id: key.id },
    ...(key.scopes === undefined ? {} : { scopes: key.scopes }),
    ...(key.context === undefined ? {} : { context: new Map(Object.entries(key.context)) }),
  };
}
