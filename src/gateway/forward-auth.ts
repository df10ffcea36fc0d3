import { advance } from './passage.ts';
import { DATABASE_HEADER } from '../protocol/database.ts';
import { CatalogError } from '../protocol/errors.ts';
import { admit } from './admit.ts';
import { authorize } from './authorize.ts';
import { checkCommit } from './check-commit.ts';
import { conclude, concludeUnsent } from './conclude.ts';
import type { Gateway } from './gateway.ts';
import { identify } from './identify.ts';
import { limit } from './limit.ts';
import { linger } from './http/linger.ts';
import type { IncomingRequest } from './http/message.ts';
import { errorBody, refusal, success, type RequestOutcome } from './outcome.ts';
import { route } from './route.ts';
import { send } from './http/send.ts';
import type { Authorized, RefusedRequest, Received } from './decision/steps.ts';
import { refuseUnseen, unlistedCatalog } from './decision/needs.ts';

/** The path that proxies call, and the prefix of a path in question. */
const PREFIX = '/authorize';
const METHOD = /^[A-Z]{1,32}$/;

/** Whether a path is one under which proxies ask. */
export function isAuthorize(path: string): boolean {
  return path === PREFIX || path.startsWith(`${PREFIX}/`);
}

/**
 * Decides about a request that a proxy describes and will send to its backend itself: 200, 401, or 403 for whatever else, since nginx makes an error
 * of its own from any other status.
 */
export async function handleDescribed(gateway: Gateway, received: Received): Promise<void> {
  if (!isTrusted(gateway, received.incoming)) return refuseStranger(gateway, received);
  const outcome = await pass(gateway, advance(received, { described: true }), describe);
  try {
    await conclude(gateway, forwardedOutcome(outcome));
  } finally {
    outcome.request.release?.();
  }
}

/** A request of the protocol that a program around the gateway asks about. */
export interface DescribedRequest {
  /** Such as `POST`. */
  readonly method: string;
  /** Path and query, such as `/v1/table/sales$orders/query`. */
  readonly path: string;
}

/** The decision on such a request. */
export interface AccessDecision {
  readonly allowed: boolean;
  /** 200, or the status that the gateway would answer: 401, 403, 429, 400 or 503. */
  readonly status: number;
  /** `user:NAME` of the identified caller. */
  readonly subject: string | null;
  /** Why it is not allowed, in one sentence. */
  readonly reason: string | null;
  /** Finds the decision in the audit log: `arrowgate audit show ID`. */
  readonly decisionId: string;
}

/** Decides about such a request for the caller of another request. Nothing is answered; the decision is recorded. */
export async function decideDescribed(
  gateway: Gateway,
  received: Received,
): Promise<AccessDecision> {
  const outcome = await pass(gateway, advance(received, { described: true }));
  try {
    await concludeUnsent(gateway, outcome);
  } finally {
    outcome.request.release?.();
  }
  const { request, answer } = outcome;
  const allowed = answer.status === 200;
  return {
    allowed,
    status: answer.status,
    subject: request.principal?.subject ?? null,
    reason: allowed ? null : sentenceOf(outcome),
    decisionId: request.decisionId,
  };
}

function sentenceOf({ answer: { body } }: RequestOutcome): string | null {
  if (typeof body !== 'string') return null;
  return (JSON.parse(body) as { readonly error: string }).error;
}

/** @param describe Gives the request the verb and the target that are decided about. */
async function pass(
  gateway: Gateway,
  received: Received,
  describe?: (incoming: IncomingRequest) => void,
): Promise<RequestOutcome> {
  let request: RefusedRequest = received;
  try {
    describe?.(received.incoming);
    const routed = (request = route(admit(received, gateway.drain.refusing), gateway.databases));
    const found = identify(routed, gateway.identification);
    const identified = (request = found instanceof Promise ? await found : found);
    const policy = gateway.policy.current();
    const counted = limit(identified, policy, gateway);
    const limited = (request = counted instanceof Promise ? await counted : counted);
    const authorized = (request = authorize(limited, policy, gateway.shadow));
    const { route: requestedRoute, permit, incoming } = authorized;
    const { method = '', headers } = incoming;
    refuseDatabase(requestedRoute);
    const catalog = gateway.remoteFor?.(requestedRoute) ?? unlistedCatalog(gateway.bodyIds);
    refuseUnseen({ route: requestedRoute, permit, method, headers }, catalog);
    checkCommit(authorized, policy, () => true);
    const attempt = gateway.recorder.attempt(authorized);
    const recorded = (request = attempt instanceof Promise ? await attempt : attempt);
    // The attempt of a change is on disk before the proxy may continue.
    const { released } = recorded.body;
    if (released !== undefined) await released;
    return success(
      advance(recorded, { answer: { status: 200, headers: named(authorized), body: null } }),
    );
  } catch (error) {
    return refusal(request, error);
  }
}

/** No database header crosses, so the catalog behind the proxy would act on other objects than were decided about. */
function refuseDatabase({ root = [] }: Authorized['route']): void {
  if (root.length === 0) return;
  throw new CatalogError(
    'PermissionDenied',
    `${DATABASE_HEADER} does not reach the catalog behind the proxy; name the object from the root of the catalog`,
  );
}

/** The identity that the backend behind the proxy may use for the caller. */
function named({ principal }: Authorized): Readonly<Record<string, string>> {
  return { 'x-arrowgate-subject': principal.subject };
}

/** Gives a request the verb and the target that it describes; everything after reads nothing else. */
function describe(incoming: IncomingRequest): void {
  const below = (incoming.url ?? '').replace(/^\/+/, '/').slice(PREFIX.length);
  // Such a proxy sends the verb as it is.
  if (below.startsWith('/') && below !== '/') {
    incoming.url = below;
    return;
  }
  const method = forwarded(incoming, 'x-forwarded-method');
  const target = forwarded(incoming, 'x-forwarded-uri');
  if (!METHOD.test(method) || !target.startsWith('/')) {
    throw new CatalogError(
      'InvalidInput',
      'X-Forwarded-Method is not a method, or X-Forwarded-Uri does not begin with a slash',
    );
  }
  Object.assign(incoming, { method, url: target });
}

function forwarded({ rawHeaders, headers }: IncomingRequest, name: string): string {
  const value = headers[name];
  if (typeof value === 'string' && timesOf(rawHeaders, name) === 1) return value;
  throw new CatalogError(
    'InvalidInput',
    'the request is described by one X-Forwarded-Method and one X-Forwarded-Uri, or by the path below /authorize/',
  );
}

/** How often a header occurs. */
function timesOf(rawHeaders: readonly string[], name: string): number {
  let times = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const each = rawHeaders[at]!;
    if (each.length === name.length && each.toLowerCase() === name) times += 1;
  }
  return times;
}

function forwardedOutcome(outcome: RequestOutcome): RequestOutcome {
  const { answer } = outcome;
  if (answer.status === 200 || answer.status === 401) return outcome;
  return { ...outcome, answer: { ...answer, status: 403 } };
}

/** The proxy itself must be trusted, for every client. */
function isTrusted({ trustedProxies }: Gateway, { socket }: IncomingRequest): boolean {
  return trustedProxies.has((socket.remoteAddress ?? '').replace(/^::ffff:/, ''));
}

async function refuseStranger(gateway: Gateway, received: Received): Promise<void> {
  const error = new CatalogError('PermissionDenied', 'only trusted proxies may use this path');
  linger(received.incoming, gateway.linger);
  await send(
    received.response,
    {
      status: 403,
      contentType: 'application/json',
      body: errorBody(error, received.requestId),
    },
    { 'x-request-id': received.requestId },
  );
}
