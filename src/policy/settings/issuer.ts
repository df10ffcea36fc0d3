/** Members of a JSON Web Key that only a private or shared key has (RFC 7518 section 6). */
const PRIVATE = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/**
 * What is wrong with the text of a JSON Web Key Set (RFC 7517 section 5), as
 * the end of a sentence; undefined if nothing is. A set that shows a private
 * key is refused whole: nothing that it signs proves anything any more.
 */
export function keySetFault(text: string): string | undefined {
  const keys = keysOf(text);
  if (keys === undefined) return 'is no JSON Web Key Set';
  return keys.some((key) => PRIVATE.some((member) => Object.hasOwn(key, member)))
    ? 'holds a private or shared key, which must not be there'
    : undefined;
}

/** The same for a key set in a file: an empty one is a fault. */
export function keyFileFault(text: string): string | undefined {
  return keySetFault(text) ?? (keysOf(text)?.length === 0 ? 'holds no key' : undefined);
}

function keysOf(text: string): readonly object[] | undefined {
  try {
    const set: unknown = JSON.parse(text);
    const keys = isObject(set) && 'keys' in set ? set.keys : undefined;
    return Array.isArray(keys) && keys.every(isObject) ? keys : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Location of an issuer's public keys: a URL, or a file (an absolute path). */
export type KeySource =
  | { readonly kind: 'uri'; readonly uri: string }
  | { readonly kind: 'file'; readonly path: string };

/** A trusted issuer of tokens. */
export interface Issuer {
  readonly name: string;
  /** Exactly the claim `iss` of its tokens. */
  readonly issuer: string;
  /** The claim `aud` of a token must hold one of these. */
  readonly audiences: readonly string[];
  readonly keys: KeySource;
  /** Names of JSON Web Algorithms (RFC 7518); all of them asymmetric. */
  readonly algorithms: readonly string[];
  readonly subjectClaim: string;
  readonly groupsClaim: string;
  /** Prefix of a subject in the name of the principal, before percent-encoding. */
  readonly subjectPrefix: string;
  readonly groupPrefix: string;
  /** By how much the clocks may differ, in seconds. */
  readonly clockTolerance: number;
}
