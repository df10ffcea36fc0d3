import { hash } from 'node:crypto';

/** Words of 32 bits of a digest. */
const WORDS = 4;

/**
 * Digest of a set of keys that does not depend on their order: their number, then the sum of the
 * first 128 bits of their SHA-1 hashes, each word of 32 bits modulo 2^32. The scripts of Redis
 * compute the same. It finds keys that are gone; it does not protect against forgery.
 */
type KeyDigest = Float64Array;

function emptyDigest(): KeyDigest {
  return new Float64Array(1 + WORDS);
}

/** A group of keys that does not match its digest: keys are gone, or others have come. */
export interface DamagedKeys {
  readonly kind: 'keys';
  /** First byte of the keys, as a character of Latin-1. */
  readonly group: string;
  /** Number of keys by the digest, and number of keys in the store. */
  readonly expected: number;
  readonly found: number;
}

/** Result of comparing all keys of a store with their digests. */
export interface KeyCheck {
  /** Number of keys. */
  readonly keys: number;
  readonly damaged: readonly DamagedKeys[];
}

/** Adds a number of keys with the sum of their hashes to a digest, or subtracts it. */
function addTo(digest: KeyDigest, count: number, word: (at: number) => number): void {
  digest[0] = (digest[0] ?? 0) + count;
  for (let at = 0; at < WORDS; at++) {
    const [sum, added] = [digest[at + 1] ?? 0, word(at)];
    digest[at + 1] = (count < 0 ? sum - added : sum + added) >>> 0;
  }
}

/** A word of a hash, whose bytes are characters of Latin-1. */
function wordAt(bytes: string, at: number): number {
  const high = (bytes.charCodeAt(4 * at) << 8) | bytes.charCodeAt(4 * at + 1);
  return high * 2 ** 16 + ((bytes.charCodeAt(4 * at + 2) << 8) | bytes.charCodeAt(4 * at + 3));
}

/**
 * Digests of keys, by the group of the keys: their first byte, as a character of Latin-1. The
 * digests of changes may have negative numbers of keys.
 */
export class KeyDigests {
  readonly #groups = new Map<string, KeyDigest>();

  /** The groups that have a digest. */
  get groups(): readonly string[] {
    return [...this.#groups.keys()];
  }

  /** The number of keys of all groups. */
  get count(): number {
    return [...this.#groups.values()].reduce((sum, [count = 0]) => sum + count, 0);
  }

  add(key: Uint8Array): void {
    this.#move(key, 1);
  }

  remove(key: Uint8Array): void {
    this.#move(key, -1);
  }

  #move(key: Uint8Array, count: 1 | -1): void {
    const bytes = hash('sha1', key, 'binary');
    addTo(this.#of(groupOf(key)), count, (at) => wordAt(bytes, at));
  }

  /** Adds the digest of a group, as text. @returns False if the text is not a digest. */
  addText(group: string, text: string): boolean {
    if (!DIGEST_TEXT.test(text)) return false;
    const [count = 0, ...words] = text.split(' ').map(Number);
    const digest = this.#of(group);
    // The words of a negative number of keys are already those of a difference.
    addTo(digest, 0, (at) => words[at] ?? 0);
    digest[0] = (digest[0] ?? 0) + count;
    return true;
  }

  /** The digest of a group as text: its number of keys and its words, in decimal digits. */
  text(group: string): string {
    return this.#of(group).join(' ');
  }

  /** The groups in which the found keys are not the expected ones. */
  differences(found: KeyDigests): readonly DamagedKeys[] {
    const groups = new Set([...this.groups, ...found.groups]);
    return [...groups]
      .filter((group) => this.text(group) !== found.text(group))
      .map((group) => ({
        kind: 'keys',
        group,
        expected: this.#of(group)[0] ?? 0,
        found: found.#of(group)[0] ?? 0,
      }));
  }

  #of(group: string): KeyDigest {
    const known = this.#groups.get(group);
    if (known !== undefined) return known;
    const made = emptyDigest();
    this.#groups.set(group, made);
    return made;
  }
}

/** The group of a key. */
export function groupOf(key: Uint8Array): string {
  return String.fromCharCode(key[0] ?? 0);
}

const DIGEST_TEXT = /^-?\d+( \d+){4}$/;
