import { createLocalJWKSet, type JWTVerifyGetKey } from 'jose';

/** A key that verifies signatures. */
export type VerificationKey = Awaited<ReturnType<JWTVerifyGetKey>>;

/** No key of the issuer is available; its tokens can be neither accepted nor refused. */
export class KeysUnavailable extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'KeysUnavailable';
  }
}

/** The public keys of an issuer, kept up to date. */
export interface KeySet {
  /** The key that a token names. @throws JOSEError when there is none, KeysUnavailable */
  readonly find: JWTVerifyGetKey;
  /** Why the keys are not those of the issuer as they are now; undefined if they are. */
  readonly fault: string | undefined;
  /** Does what is due. Called about each second. */
  tick(): void;
  /** Nothing is fetched any more. */
  close(): void;
}

/** Callbacks of a key set. */
export interface KeySetEvents {
  /** The keys are others, or there are none any more. */
  readonly changed: () => void;
  /** The keys cannot be refreshed. Called once until they can. */
  readonly failed: (why: string) => void;
  readonly recovered: () => void;
}

/** Looks keys up in the text of a key set. @throws JOSEError */
export function lookupIn(text: string): JWTVerifyGetKey {
  return createLocalJWKSet(JSON.parse(text));
}
