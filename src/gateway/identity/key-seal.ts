import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { StoredKey } from './keys.ts';

/** Bytes of the secret that authenticates shared keys. */
export const KEY_SECRET_BYTES = 32;

/** Purpose of a sealed text: a text of one purpose is never accepted for another. */
type Purpose = 'key' | 'set';

const MAC = /^[A-Za-z0-9_-]{43}$/;
const MAC_LENGTH = 43;

/** Authenticates the keys of one catalog with a secret that is not in the store. */
export class KeySeal {
  readonly #secret: Buffer;
  readonly #catalog: string;
  /** Tells secrets apart without revealing them. */
  readonly fingerprint: string;
  /** Records of keys that were sealed or opened. */
  readonly records = new WeakMap<StoredKey, Uint8Array>();
  /** The authentic record of each key that was opened last, by its key in the store, and what it says. */
  readonly opened = new Map<string, { readonly value: Uint8Array; readonly found: StoredKey }>();

  /** @param catalog Id of the catalog: keys of another catalog are not accepted. */
  constructor(secret: Buffer, catalog: string) {
    this.#secret = secret;
    this.#catalog = catalog;
    const name = Buffer.concat([Buffer.from('arrowgate key secret\0'), secret]);
    this.fingerprint = hash('sha256', name, 'hex').slice(0, 16);
  }

  /** A text behind its HMAC-SHA256, with a newline in between. */
  seal(purpose: Purpose, text: string): string {
    return `${this.#mac(purpose, text)}\n${text}`;
  }

  /** The text of a sealed one; undefined if it was not sealed with this secret for this catalog and purpose. */
  open(purpose: Purpose, sealed: string): string | undefined {
    const mac = sealed.slice(0, MAC_LENGTH);
    const text = sealedText(sealed);
    if (text === undefined) return undefined;
    const expected = Buffer.from(this.#mac(purpose, text));
    return timingSafeEqual(expected, Buffer.from(mac)) ? text : undefined;
  }

  #mac(purpose: Purpose, text: string): string {
    const head = `arrowgate shared ${purpose}\0${this.#catalog}\0`;
    return createHmac('sha256', this.#secret).update(head).update(text).digest('base64url');
  }
}

/** The text under a seal, which is not checked; undefined for a text without one. */
export function sealedText(sealed: string): string | undefined {
  const isSealed = MAC.test(sealed.slice(0, MAC_LENGTH)) && sealed[MAC_LENGTH] === '\n';
  return isSealed ? sealed.slice(MAC_LENGTH + 1) : undefined;
}
