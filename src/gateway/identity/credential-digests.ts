import { hash, randomBytes } from 'node:crypto';

const SALT_BYTES = 32;
/** A longer credential is no key, and is not remembered. */
const LONGEST_TEXT = 128;

interface SentCredential {
  readonly text: string;
  readonly digest: string;
}

/**
 * Digests of credentials, under a random key of this process, so that nobody can predict them. The last
 * credential of each open connection is remembered: most requests repeat it, and a digest costs as much
 * as all else that identifies a caller.
 */
export class CredentialDigests {
  readonly #salt = randomBytes(SALT_BYTES).toString('base64url');
  readonly #sent = new WeakMap<object, SentCredential>();

  /** @param connection The connection that it came on; nothing is remembered without. */
  of(text: string, connection: object | undefined): string {
    if (connection === undefined || text.length > LONGEST_TEXT) return this.#computed(text);
    const before = this.#sent.get(connection);
    if (before !== undefined && isSameText(before.text, text)) return before.digest;
    const digest = this.#computed(text);
    this.#sent.set(connection, { text, digest });
    return digest;
  }

  #computed(text: string): string {
    return hash('sha256', this.#salt + text, 'base64url');
  }
}

/**
 * Compares in a time that does not depend on where texts of one length differ: clients of one proxy share its
 * connections.
 */
function isSameText(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let at = 0; at < one.length; at += 1) {
    difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  }
  return difference === 0;
}
