import { receive, admit } from './admit.ts';
import type { Gateway } from './gateway.ts';
import { cut, type IncomingRequest, type OutgoingResponse } from './http/message.ts';
import { handleDescribed, isAuthorize } from './forward-auth.ts';
import { isConsole, isProtocol } from './own-paths.ts';
import { advance } from './passage.ts';
import { handlePlain, type Site } from './plain.ts';
import { targetPath, route } from './route.ts';
import type { Received, RefusedRequest } from './decision/steps.ts';
import type { Traces } from './telemetry/traces.ts';
import { authorize } from './authorize.ts';
import { checkCommit } from './check-commit.ts';
import { conclude } from './conclude.ts';
import { arrival, forward } from './forward.ts';
import { identify } from './identify.ts';
import { limit } from './limit.ts';
import { refusal, success, type RequestOutcome } from './outcome.ts';

interface ExchangeOptions {
  /** Whether the client waits for `100 Continue`. */
  readonly waiting: boolean;
  readonly site: Site;
}

/** One request and its response. Never rejects: an unexpected error is logged and breaks the response off. */
export function exchange(
  gateway: Gateway,
  incoming: IncomingRequest,
  outgoing: OutgoingResponse,
  { waiting, site }: ExchangeOptions,
): Promise<void> {
  const received = receive(incoming, outgoing, waiting, gateway.trustedProxies);
  const handled = handlerOf(gateway, targetPath(incoming.url ?? ''), site)(gateway, received);
  return handled.catch((error: unknown) => {
    gateway.log.error({ err: error, requestId: received.requestId }, 'an answer failed');
    cut(outgoing);
  });
}

type Handler = (gateway: Gateway, received: Received) => Promise<void>;

function handlerOf({ console }: Gateway, path: string, site: Site): Handler {
  if (site === 'all' && isProtocol(path)) return handleProtocol;
  if (site === 'all' && console !== undefined && isConsole(path)) {
    return (gateway, received) => console.handle(gateway, received);
  }
  if (site === 'all' && isAuthorize(path)) return handleDescribed;
  return (gateway, received) => handlePlain(gateway, received, site);
}

/** Answers a request to the protocol, with its trace where one is kept. */
export function handleProtocol(gateway: Gateway, received: Received): Promise<void> {
  return gateway.traces === undefined
    ? handle(gateway, received)
    : traced(gateway, gateway.traces, received);
}

async function traced(gateway: Gateway, traces: Traces, received: Received): Promise<void> {
  const trace = traces.begin(received.incoming, received);
  try {
    await handle(gateway, advance(received, { trace }));
  } finally {
    trace.end();
  }
}

/**
 * The whole way of a request to the protocol. Each step takes what the step
 * before knows, so none can be left out: a backend is only given a request
 * whose attempt is recorded, and only an allowed request has an attempt.
 */
async function handle(gateway: Gateway, received: Received): Promise<void> {
  const outcome = await pass(gateway, received);
  try {
    const concluded = conclude(gateway, outcome);
    if (concluded instanceof Promise) await concluded;
  } finally {
    outcome.request.release?.();
  }
}

async function pass(gateway: Gateway, received: Received): Promise<RequestOutcome> {
  let request: RefusedRequest = received;
  const { trace } = received;
  try {
    trace?.step('decide');
    const admitted = (request = admit(received, gateway.drain.refusing));
    const routed = (request = route(admitted, gateway.databases));
    const found = identify(routed, gateway.identification);
    const identified = (request = found instanceof Promise ? await found : found);
    const policy = gateway.policy.current();
    const counted = limit(identified, policy, gateway);
    const limited = (request = counted instanceof Promise ? await counted : counted);
    const scanning = gateway.scans.begin(limited);
    const authorized = (request = authorize(
      scanning,
      policy,
      gateway.shadow,
      gateway.trustedProxies,
    ));
    const checked = checkCommit(
      authorized,
      policy,
      () => gateway.remoteFor?.(authorized.route) !== undefined,
    );
    trace?.step('attempt');
    const attempt = gateway.recorder.attempt(checked);
    const recorded = (request = attempt instanceof Promise ? await attempt : attempt);
    trace?.step('backend', { backend: gateway.recorder.backendOf(recorded) });
    if (!recorded.incoming.complete) await arrival();
    const answered = forward(recorded, gateway.backend);
    return success(answered instanceof Promise ? await answered : answered);
  } catch (error) {
    return refusal(request, error);
  }
}
