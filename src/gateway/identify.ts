import type { IncomingHttpHeaders } from 'node:http';
import { CatalogError } from '../protocol/errors.ts';
import { headerText } from '../protocol/header-text.ts';
import type { Principal } from '../protocol/principal.ts';
import type { KeyRing } from './key-ring.ts';
import type { Identified, Routed } from './steps.ts';

const BEARER = /^Bearer +(\S+)$/i;

/**
 * Finds out who asks, from the headers alone.
 * @throws CatalogError Unauthenticated when nobody is proven, or two principals are.
 */
export function identify(routed: Routed, keys: KeyRing): Identified {
  return { ...routed, principal: principalOf(routed.incoming.headers, keys) };
}

/** Who the credentials of these headers stand for. @throws CatalogError Unauthenticated */
export function principalOf(headers: IncomingHttpHeaders, keys: KeyRing): Principal {
  const principals = credentialsOf(headers).map((text) => prove(text, keys));
  const [first, second] = principals;
  if (first === undefined) {
    throw new CatalogError(
      'Unauthenticated',
      'a key is needed, in the header x-api-key or as "Authorization: Bearer"',
    );
  }
  if (second !== undefined && !samePrincipal(first, second)) {
    throw new CatalogError('Unauthenticated', 'the request carries credentials of two principals');
  }
  return first;
}

function credentialsOf(headers: IncomingHttpHeaders): readonly string[] {
  const key = headers['x-api-key'];
  const found = typeof key === 'string' && key !== '' ? [key] : [];
  const authorization = headers.authorization;
  const all = authorization === undefined ? found : [...found, bearerOf(authorization)];
  return all.map(headerText);
}

function bearerOf(authorization: string): string {
  const token = BEARER.exec(authorization)?.[1];
  if (token !== undefined) return token;
  throw new CatalogError('Unauthenticated', 'the Authorization header is not "Bearer" and a token');
}

function prove(text: string, keys: KeyRing): Principal {
  const identity = keys.identify(text);
  if (identity.kind === 'known') return identity.principal;
  throw new CatalogError(
    'Unauthenticated',
    identity.kind === 'ended'
      ? `the key ${identity.id} is ${identity.state}`
      : 'the credential is not known',
  );
}

function samePrincipal(one: Principal, other: Principal): boolean {
  return namesOf(one) === namesOf(other);
}

function namesOf(principal: Principal): string {
  const scopes = principal.scopes?.map((scope) => `${scope.action}:${scope.pattern}`);
  return JSON.stringify([
    principal.subject,
    principal.groups.toSorted(),
    principal.roles.toSorted(),
    scopes?.toSorted() ?? null,
  ]);
}
