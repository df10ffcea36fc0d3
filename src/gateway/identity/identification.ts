import type { IncomingHttpHeaders } from 'node:http';
import { CatalogError } from '../../protocol/errors.ts';
import { headerText } from '../../protocol/context.ts';
import type { Principal } from '../../protocol/principal.ts';
import {
  clientCertificate,
  principalOfCertificate,
  type ClientSubject,
} from './client-certificate.ts';
import type { FailureLimit } from './failure-limit.ts';
import { andThen } from '../../protocol/maybe-promise.ts';
import { hostPrincipal, type IdentifyHost } from './host-identity.ts';
import type { KeyIdentity, KeyRing } from './key-ring.ts';
import { endedSentence } from './keys.ts';
import type { IncomingRequest } from '../http/message.ts';
import type { Tokens } from './tokens.ts';

const BEARER = /^Bearer +(\S+)$/i;

/** Credential verifiers. */
export interface IdentificationOptions {
  readonly keys: KeyRing;
  readonly tokens: Tokens;
  readonly failures: FailureLimit;
  /** The field of a client certificate that names its owner; without it, certificates are ignored. */
  readonly clientSubject?: ClientSubject;
  /** The surrounding program, if it authenticates callers. Whom it names, needs no credential of the gateway. */
  readonly host?: IdentifyHost | undefined;
}

/** The credentials of a request; never its body. */
interface CredentialInput {
  readonly incoming: IncomingRequest;
  readonly sourceIp: string;
}

/**
 * Identifies the caller by a key, a token or a client certificate. All that a
 * request carries must stand for the same principal.
 */
export class Identification {
  /** Failures by the address that they came from. */
  readonly failures: FailureLimit;
  readonly #options: IdentificationOptions;

  constructor(options: IdentificationOptions) {
    this.failures = options.failures;
    this.#options = options;
  }

  /**
   * The caller. At once for keys, certificates and tokens that were verified
   * before; a token that comes for the first time takes a moment.
   * @throws CatalogError Unauthenticated when no credential is valid, or credentials name two principals
   * are, also by the promise; ServiceUnavailable when the keys of an issuer cannot be
   * had; TooManyFailures after too many failures. What the surrounding program throws, and TypeError for an identity
   *   of it that is invalid: internal errors
   */
  principalOf(input: CredentialInput): Principal | Promise<Principal> {
    const { host } = this.#options;
    if (host === undefined) return this.#ofCredentials(input);
    return andThen(host(input.incoming), (named) =>
      named === undefined || named === null ? this.#ofCredentials(input) : hostPrincipal(named),
    );
  }

  #ofCredentials({ incoming, sourceIp }: CredentialInput): Principal | Promise<Principal> {
    const { failures } = this;
    failures.check(sourceIp);
    if (!this.#offersAny(incoming)) throw new CatalogError('Unauthenticated', NOTHING);
    try {
      const found = this.#provenBy(incoming);
      return found instanceof Promise ? this.#awaited(found, sourceIp) : found;
    } catch (error) {
      if (isUnauthenticated(error)) {
        failures.count(sourceIp);
        void failures.share(sourceIp);
      }
      throw error;
    }
  }

  /** Counted as a failure until it is none, so that many at once are not let through. */
  async #awaited(found: Promise<Principal>, address: string): Promise<Principal> {
    const { failures } = this;
    failures.count(address);
    try {
      const principal = await found;
      failures.forgive(address);
      return principal;
    } catch (error) {
      if (isUnauthenticated(error)) void failures.share(address);
      else failures.forgive(address);
      throw error;
    }
  }

  #offersAny({ headers, socket }: IncomingRequest): boolean {
    if (headers.authorization !== undefined || keyHeader(headers) !== undefined) return true;
    return this.#options.clientSubject !== undefined && clientCertificate(socket) !== undefined;
  }

  #provenBy(incoming: IncomingRequest): Principal | Promise<Principal> {
    const { headers, socket } = incoming;
    const onlyKey =
      this.#options.clientSubject === undefined && headers.authorization === undefined;
    const given = onlyKey ? keyHeader(headers) : undefined;
    if (given !== undefined) return this.#holder(headerText(given), socket);
    const proofs: (Principal | Promise<Principal>)[] = [];
    const certified = this.#certified(socket);
    if (certified !== undefined) proofs.push(certified);
    const key = keyHeader(headers);
    if (key !== undefined) proofs.push(this.#holder(headerText(key)));
    if (headers.authorization !== undefined) {
      proofs.push(this.#bearer(headerText(bearerOf(headers.authorization))));
    }
    return proofs.every(isAtHand) ? onlyOne(proofs) : allOf(proofs).then(onlyOne);
  }

  #certified(socket: IncomingRequest['socket']): Principal | undefined {
    const { clientSubject } = this.#options;
    if (clientSubject === undefined) return undefined;
    const certificate = clientCertificate(socket);
    return certificate === undefined
      ? undefined
      : principalOfCertificate(certificate, clientSubject);
  }

  #bearer(text: string): Principal | Promise<Principal> {
    const { tokens, keys } = this.#options;
    if (!tokens.looksLikeOne(text)) return this.#holder(text);
    const cached = tokens.cached(text);
    if (cached !== undefined) return cached;
    // The administrator key of a process may be any text.
    return andThen(keys.identify(text), (identity) =>
      identity.kind === 'known' ? identity.principal : tokens.verify(text),
    );
  }

  #holder(text: string, connection?: object): Principal | Promise<Principal> {
    return andThen(this.#options.keys.identify(text, connection), ownerOf);
  }
}

function ownerOf(identity: KeyIdentity): Principal {
  if (identity.kind === 'known') return identity.principal;
  if (identity.kind === 'closed') throw new CatalogError('ServiceUnavailable', identity.reason);
  throw new CatalogError(
    'Unauthenticated',
    identity.kind === 'ended'
      ? endedSentence(identity.id, identity.state)
      : 'the credential is not known',
  );
}

const NOTHING = 'a key is needed, in the header x-api-key or as "Authorization: Bearer"';

function keyHeader(headers: IncomingHttpHeaders): string | undefined {
  const key = headers['x-api-key'];
  return typeof key === 'string' && key !== '' ? key : undefined;
}

function bearerOf(authorization: string): string {
  const token = BEARER.exec(authorization)?.[1];
  if (token !== undefined) return token;
  throw new CatalogError('Unauthenticated', 'the Authorization header is not "Bearer" and a token');
}

function onlyOne(principals: readonly Principal[]): Principal {
  const [first, ...others] = principals;
  if (first === undefined) throw new CatalogError('Unauthenticated', NOTHING);
  if (others.every((other) => samePrincipal(first, other))) return first;
  throw new CatalogError('Unauthenticated', 'the request carries credentials of two principals');
}

function allOf(proofs: readonly (Principal | Promise<Principal>)[]): Promise<Principal[]> {
  return Promise.all(proofs.map((proof) => Promise.resolve(proof)));
}

function isAtHand(proof: Principal | Promise<Principal>): proof is Principal {
  return !(proof instanceof Promise);
}

function isUnauthenticated(error: unknown): boolean {
  return error instanceof CatalogError && error.row.name === 'Unauthenticated';
}

/** Whether two credentials give the same names and rights; the credentials themselves may differ. */
function samePrincipal(one: Principal, other: Principal): boolean {
  return namesOf(one) === namesOf(other);
}

function namesOf(principal: Principal): string {
  const scopes = principal.scopes?.map((scope) => `${scope.action}:${scope.pattern}`);
  const context = [...(principal.context ?? [])].map(([key, value]) => `${key}=${value}`);
  return JSON.stringify([
    principal.subject,
    principal.groups.toSorted(),
    principal.roles.toSorted(),
    scopes?.toSorted() ?? null,
    context.toSorted(),
  ]);
}
