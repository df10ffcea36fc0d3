import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { CatalogError } from '../../protocol/errors.ts';

/** A session ends so long after its sign-in, and so long after its last request, in ms. */
export const SESSION_MILLIS = 8 * 3_600_000;
const SESSION_IDLE_MILLIS = 30 * 60_000;
/** Sessions of a catalog. The one that was idle longest ends when another begins. */
const MOST_SESSIONS = 1000;
/** The time of the last request is written again when it is older, in ms. */
const TOUCH_MILLIS = 60_000;

const COOKIE = /^[\w-]{43}$/;
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** What a caller signed in with. */
export interface SignedIn {
  readonly kind: 'key' | 'token';
  readonly text: string;
}

/** Texts by name that all gateways of a catalog share. */
export interface SessionNotes {
  keep(name: string, text: string): Promise<void>;
  get(name: string): Promise<string | undefined>;
  remove(name: string): Promise<void>;
  all(): Promise<readonly { readonly name: string; readonly text: string }[]>;
  close(): Promise<void>;
}

interface SessionOptions {
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Maximum number of sessions. */
  readonly most?: number;
}

/** A session as it is stored. The credential is sealed by a key that only the cookie gives. */
interface StoredSession {
  /** Milliseconds since 1970. */
  readonly began: number;
  readonly used: number;
  readonly sealed: string;
}

/**
 * The sessions of the console. The cookie is a random secret; the store has its digest and the credential,
 * encrypted with a key derived from the secret, so that stored sessions are worth nothing without their cookies.
 */
export class Sessions {
  readonly #open: () => Promise<SessionNotes>;
  readonly #now: () => number;
  readonly #most: number;
  #notes: Promise<SessionNotes> | undefined;

  constructor(open: () => Promise<SessionNotes>, options: SessionOptions = {}) {
    this.#open = open;
    this.#now = options.now ?? Date.now;
    this.#most = options.most ?? MOST_SESSIONS;
  }

  /**
   * Begins a session.
   * @returns The value of its cookie.
   * @throws CatalogError ServiceUnavailable if it cannot be stored
   */
  async begin(credential: SignedIn): Promise<string> {
    const notes = await this.#store();
    await this.#makeRoom(notes);
    const cookie = randomBytes(32).toString('base64url');
    const began = this.#now();
    const stored = { began, used: began, sealed: seal(cookie, began, credential) };
    await available(notes.keep(nameOf(cookie), JSON.stringify(stored)));
    return cookie;
  }

  /** The credential of a session; undefined if the session is unknown or has ended. @throws CatalogError ServiceUnavailable */
  async find(cookie: string): Promise<SignedIn | undefined> {
    if (!COOKIE.test(cookie)) return undefined;
    const notes = await this.#store();
    const stored = parsed(await available(notes.get(nameOf(cookie))));
    if (stored === undefined) return undefined;
    const credential = unseal(cookie, stored);
    if (credential === undefined) return undefined;
    const now = this.#now();
    if (hasEnded(stored, now)) {
      await available(notes.remove(nameOf(cookie)));
      return undefined;
    }
    if (now - stored.used > TOUCH_MILLIS) {
      await available(notes.keep(nameOf(cookie), JSON.stringify({ ...stored, used: now })));
    }
    return credential;
  }

  /** Ends a session. @throws CatalogError ServiceUnavailable */
  async end(cookie: string): Promise<void> {
    if (!COOKIE.test(cookie)) return;
    const notes = await this.#store();
    await available(notes.remove(nameOf(cookie)));
  }

  async close(): Promise<void> {
    await (await this.#notes?.catch(() => undefined))?.close();
  }

  /** Removes sessions that have ended, and those that were idle longest beyond the maximum. */
  async #makeRoom(notes: SessionNotes): Promise<void> {
    const now = this.#now();
    const all = (await available(notes.all())).map(({ name, text }) => ({
      name,
      stored: parsed(text),
    }));
    const running = all
      .filter(({ stored }) => stored !== undefined && !hasEnded(stored, now))
      .sort((one, other) => other.stored!.used - one.stored!.used)
      .slice(0, this.#most - 1);
    const kept = new Set(running.map(({ name }) => name));
    for (const { name } of all) if (!kept.has(name)) await available(notes.remove(name));
  }

  /** Opened on first use: a data folder that cannot be written has no sessions, and may be writable later. */
  async #store(): Promise<SessionNotes> {
    this.#notes ??= this.#open();
    return available(
      this.#notes.catch((error: unknown) => {
        this.#notes = undefined;
        throw error;
      }),
    );
  }
}

function hasEnded({ began, used }: StoredSession, now: number): boolean {
  return now - began >= SESSION_MILLIS || now - used >= SESSION_IDLE_MILLIS;
}

async function available<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch {
    throw new CatalogError(
      'ServiceUnavailable',
      'sessions of the console cannot be stored now; use a key in the header x-api-key, or try again later',
    );
  }
}

function nameOf(cookie: string): string {
  return createHash('sha256').update(`name:${cookie}`).digest('hex');
}

function keyOf(cookie: string): Buffer {
  return createHash('sha256').update(`key:${cookie}`).digest();
}

function seal(cookie: string, began: number, credential: SignedIn): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(cookie), nonce).setAAD(Buffer.from(String(began)));
  const text = Buffer.concat([cipher.update(JSON.stringify(credential)), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url');
}

function unseal(cookie: string, { began, sealed }: StoredSession): SignedIn | undefined {
  const bytes = Buffer.from(sealed, 'base64url');
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  try {
    const decipher = createDecipheriv(CIPHER, keyOf(cookie), nonce, { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(String(began)))
      .setAuthTag(tag);
    const text = [decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()];
    return JSON.parse(Buffer.concat(text).toString()) as SignedIn;
  } catch {
    return undefined;
  }
}

function parsed(text: string | undefined): StoredSession | undefined {
  if (text === undefined) return undefined;
  try {
    const value = JSON.parse(text) as Partial<StoredSession>;
    const { began, used, sealed } = value;
    const isWhole =
      typeof began === 'number' && typeof used === 'number' && typeof sealed === 'string';
    return isWhole ? { began, used, sealed } : undefined;
  } catch {
    return undefined;
  }
}
