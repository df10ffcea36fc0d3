import { decodeJwt, jwtVerify, errors } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Issuer } from '../../policy/settings/issuer.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { Principal } from '../../protocol/principal.ts';
import { FileKeySet } from './file-key-set.ts';
import { KeysUnavailable, type KeySet, type KeySetEvents } from './key-set.ts';
import { RemoteKeySet, remoteTimes, type RemoteTimes } from './remote-key-set.ts';
import { tokenPrincipal } from './token-principal.ts';
import { hash } from 'node:crypto';

type Sentence = (error: errors.JOSEError) => string;

/** Sentences about tokens that do not verify, by error code. They repeat nothing of the token. */
const sentences: Readonly<Record<string, Sentence>> = {
  ERR_JWT_EXPIRED: () => 'the token has expired',
  ERR_JWT_CLAIM_VALIDATION_FAILED: claimSentence,
  ERR_JOSE_ALG_NOT_ALLOWED: () => 'the algorithm of the token is not one that its issuer may use',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: () => 'the signature of the token is wrong',
  ERR_JWKS_NO_MATCHING_KEY: () => 'the token is signed by no key of its issuer',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: () =>
    'the token does not say by which key of its issuer it is signed',
};

/** The refusal of a token, from what verifying it threw. */
function tokenRefusal(error: unknown): CatalogError {
  if (error instanceof CatalogError) return error;
  if (error instanceof KeysUnavailable) {
    return new CatalogError(
      'ServiceUnavailable',
      'the keys of the issuer of the token are unavailable',
    );
  }
  const sentence = error instanceof errors.JOSEError ? sentences[error.code]?.(error) : undefined;
  return new CatalogError('Unauthenticated', sentence ?? 'the token cannot be verified');
}

function claimSentence(error: errors.JOSEError): string {
  const claim = error instanceof errors.JWTClaimValidationFailed ? error.claim : '';
  const missing = error instanceof errors.JWTClaimValidationFailed && error.reason === 'missing';
  if (missing) return `the token has no claim ${claim}`;
  if (claim === 'nbf') return 'the token is not valid yet';
  if (claim === 'aud') return 'the token is for another audience';
  return `the claim ${claim} of the token has a wrong value`;
}

interface Entry {
  readonly principal: Principal;
  readonly expires: number;
}

/**
 * Principals of verified tokens, by a hash of the token, until the token expires.
 * Holds no token.
 */
class TokenCache {
  readonly #entries: LRUCache<string, Entry>;

  constructor(limit: number) {
    this.#entries = new LRUCache({ max: limit });
  }

  /** @param now Milliseconds since 1970. */
  get(token: string, now: number): Principal | undefined {
    const key = hashOf(token);
    const entry = this.#entries.get(key);
    if (entry === undefined || now < entry.expires) return entry?.principal;
    this.#entries.delete(key);
    return undefined;
  }

  /** @param expires The token's own end, in milliseconds since 1970. */
  put(token: string, principal: Principal, expires: number): void {
    this.#entries.set(hashOf(token), { principal, expires });
  }

  clear(): void {
    this.#entries.clear();
  }

  get size(): number {
    return this.#entries.size;
  }
}

function hashOf(token: string): string {
  return hash('sha256', token, 'base64url');
}

const CACHED_TOKENS = 10_000;
const MAX_TOKEN = 16_384;
const TICK_MILLIS = 1_000;

/** Three parts of base64url: what a signed token looks like (RFC 7515 section 7.1). */
const SHAPE = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/** An issuer with the keys that verify its tokens. */
interface Trusted {
  readonly issuer: Issuer;
  readonly keys: KeySet;
}

interface Verified {
  readonly principal: Principal;
  /** The token's end, in milliseconds since 1970. */
  readonly expires: number;
}

/** How the tokens of issuers are verified. */
interface TokensOptions {
  readonly log: Logger;
  readonly times?: RemoteTimes;
  /** Milliseconds on a clock that only goes forward. */
  readonly now?: () => number;
}

/**
 * The issuers whose tokens are believed, and the tokens that were verified.
 * The issuer of a token is chosen by what the token says of itself, before
 * anything is fetched; what it says is believed only once its signature holds.
 */
export class Tokens {
  readonly #options: TokensOptions;
  readonly #cache = new TokenCache(CACHED_TOKENS);
  readonly #timer: NodeJS.Timeout;
  #trusted: ReadonlyMap<string, Trusted> = new Map();
  /** Changes with the issuers and with any of their keys. */
  #generation = 0;

  constructor(issuers: readonly Issuer[], options: TokensOptions) {
    this.#options = options;
    this.replace(issuers);
    this.#timer = setInterval(() => this.tick(), TICK_MILLIS);
    this.#timer.unref();
  }

  /** Whether a text is to be taken for a token here. */
  looksLikeOne(text: string): boolean {
    return this.#trusted.size > 0 && SHAPE.test(text);
  }

  /** The principal of a token that was verified before and has not expired. */
  cached(token: string): Principal | undefined {
    return this.#cache.get(token, Date.now());
  }

  /**
   * The principal of a token.
   * @throws CatalogError Unauthenticated; ServiceUnavailable when the keys of its issuer cannot be had
   */
  async verify(token: string): Promise<Principal> {
    for (;;) {
      const generation = this.#generation;
      try {
        const { principal, expires } = await this.#verified(token);
        if (generation === this.#generation) return this.#keep(token, principal, expires);
      } catch (error) {
        if (generation === this.#generation) throw error;
      }
      // The issuers or their keys became others meanwhile: what they are now counts.
    }
  }

  /** Trusts these issuers from now on. Keys of an address that stays are kept. */
  replace(issuers: readonly Issuer[]): void {
    const before = this.#trusted;
    const next = issuers.map((issuer) => ({ issuer, keys: this.#keysOf(issuer) }));
    const retained = new Set(next.map(({ keys }) => keys));
    this.#trusted = new Map(next.map((trusted) => [trusted.issuer.issuer, trusted]));
    for (const { keys } of before.values()) if (!retained.has(keys)) keys.close();
    this.#forget();
  }

  /** Why the keys of an issuer are not up to date; undefined if all are. */
  fault(): string | undefined {
    const faults = [...this.#trusted.values()].flatMap(({ issuer, keys }) =>
      keys.fault === undefined ? [] : [`${issuer.name}: ${keys.fault}`],
    );
    return faults.length === 0 ? undefined : faults.join('\n');
  }

  /** Does what is due: fetches keys that are old, and gives up those that are too old. */
  tick(): void {
    for (const { keys } of this.#trusted.values()) keys.tick();
  }

  close(): void {
    clearInterval(this.#timer);
    for (const { keys } of this.#trusted.values()) keys.close();
  }

  #keep(token: string, principal: Principal, expires: number): Principal {
    this.#cache.put(token, principal, expires);
    return principal;
  }

  #forget(): void {
    this.#generation++;
    this.#cache.clear();
  }

  #keysOf({ name, keys: source }: Issuer): KeySet {
    const { log, times = remoteTimes, now = () => performance.now() } = this.#options;
    const events: KeySetEvents = {
      changed: () => this.#forget(),
      failed: (fault) =>
        log.error({ issuer: name, fault }, 'the keys of an issuer are not current'),
      recovered: () => log.info({ issuer: name }, 'the keys of an issuer are current again'),
    };
    if (source.kind === 'file') return new FileKeySet(source.path, events);
    const same = this.#remoteOf(name, source.uri);
    return same ?? new RemoteKeySet(source.uri, { events, times, now });
  }

  #remoteOf(name: string, uri: string): KeySet | undefined {
    const all = [...this.#trusted.values()];
    return all.find(
      ({ issuer, keys }) =>
        issuer.name === name && keys instanceof RemoteKeySet && keys.uri === uri,
    )?.keys;
  }

  async #verified(token: string): Promise<Verified> {
    const { issuer, keys } = this.#trustedFor(token);
    try {
      const { payload } = await jwtVerify(token, keys.find, {
        issuer: issuer.issuer,
        audience: [...issuer.audiences],
        algorithms: [...issuer.algorithms],
        clockTolerance: issuer.clockTolerance,
        requiredClaims: ['exp', 'iss', 'aud', issuer.subjectClaim],
      });
      return { principal: tokenPrincipal(issuer, payload), expires: (payload.exp ?? 0) * 1000 };
    } catch (error) {
      throw tokenRefusal(error);
    }
  }

  #trustedFor(token: string): Trusted {
    if (token.length > MAX_TOKEN) {
      throw refused(`the token has more than ${MAX_TOKEN} characters`);
    }
    const said = claimedIssuer(token);
    const trusted = said === undefined ? undefined : this.#trusted.get(said);
    if (trusted !== undefined) return trusted;
    throw refused(
      said === undefined
        ? 'the token has no claim iss'
        : 'the issuer of the token is not configured',
    );
  }
}

/** The issuer that a token names, not yet verified. */
function claimedIssuer(token: string): string | undefined {
  try {
    const { iss } = decodeJwt(token);
    return typeof iss === 'string' ? iss : undefined;
  } catch {
    throw refused('the token cannot be read');
  }
}

function refused(sentence: string): CatalogError {
  return new CatalogError('Unauthenticated', sentence);
}
