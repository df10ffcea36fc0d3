import { allowedByPolicy } from '../audit/record/record.ts';
import type { AnswerBody } from '../protocol/backend.ts';
import { andThen, type MaybePromise } from '../protocol/maybe-promise.ts';
import { canonicalPath } from '../protocol/identifier.ts';
import { errorRow } from '../protocol/errors.ts';
import { encoded } from './http/content-coding.ts';
import type { Gateway } from './gateway.ts';
import { objectPath } from './decision/known-route.ts';
import { linger } from './http/linger.ts';
import { CLIENT_DISCONNECTED, refusal, type RequestOutcome } from './outcome.ts';
import { withheldCredentials } from './record.ts';
import { send, type Sent } from './http/send.ts';
import type { TracedDecision } from './telemetry/traces.ts';
import { rateLimitHeaders } from './decision/rate-limit-headers.ts';

/** Protocol version of the server. Its features: several vectors in one query, and structured full-text searches. */
const PROTOCOL_VERSION = '0.3.0';

/** The headers that every answer to a protocol request carries. */
function responseHeaders(
  outcome: RequestOutcome,
  state: { readonly pending: boolean; readonly closing: boolean },
): Readonly<Record<string, string>> {
  const { request, decision, reason } = outcome;
  const headers: Record<string, string> = {
    'x-request-id': request.requestId,
    'x-arrowgate-decision': allowedByPolicy(decision) ? 'allow' : decision,
    'x-arrowgate-decision-id': request.decisionId,
    'phalanx-version': outcome.answer.headers?.['phalanx-version'] ?? PROTOCOL_VERSION,
  };
  const limits = request.limits === undefined ? undefined : rateLimitHeaders(request.limits);
  if (limits !== undefined) {
    headers['ratelimit'] = limits.ratelimit;
    headers['ratelimit-policy'] = limits['ratelimit-policy'];
  }
  if (reason !== undefined) headers['x-arrowgate-reason'] = reason;
  if (state.pending) headers['x-arrowgate-audit'] = 'pending';
  if (state.closing) headers['connection'] = 'close';
  return headers;
}

/** In a second. */
const MILLIS = 1000;

/**
 * Records the outcome of a request and answers it. The outcome is recorded before the
 * first byte is sent, so that a change is never acknowledged without it. Exception: a read
 * that streams is recorded after the last byte, because its size is unknown before.
 */
export function conclude(gateway: Gateway, reached: RequestOutcome): MaybePromise<void> {
  return andThen(encoded(reached.answer, reached.request.incoming), (answer) =>
    concludeEncoded(gateway, answer === reached.answer ? reached : { ...reached, answer }),
  );
}

function concludeEncoded(gateway: Gateway, outcome: RequestOutcome): MaybePromise<void> {
  const { request } = outcome;
  request.trace?.step('outcome');
  gateway.shadow?.note(outcome);
  return request.canaries === undefined
    ? recordAndSend(gateway, outcome)
    : answerForCanaries(gateway, request).then(() => recordAndSend(gateway, outcome));
}

function recordAndSend(gateway: Gateway, outcome: RequestOutcome): MaybePromise<void> {
  const { request, answer } = outcome;
  const size = sizeOf(answer.body);
  if (size === null && request.route?.operation.mutates !== true)
    return sendAndRecord(gateway, outcome);
  return andThen(gateway.recorder.outcome(outcome, size), (state) => {
    if (state === 'withheld') return conclude(gateway, refusal(request, withheldCredentials()));
    const sending = sendOutcome(gateway, outcome, state === 'pending');
    return andThen(sending, (sent) => finish(gateway, outcome, sent));
  });
}

async function sendAndRecord(gateway: Gateway, outcome: RequestOutcome): Promise<void> {
  const sent = await sendOutcome(gateway, outcome, false);
  await gateway.recorder.outcome(ended(outcome, sent), sent.bytes);
  finish(gateway, outcome, sent);
}

function sendOutcome(
  gateway: Gateway,
  outcome: RequestOutcome,
  pending: boolean,
): MaybePromise<Sent> {
  const { request, answer } = outcome;
  linger(request.incoming, gateway.linger);
  const headers = responseHeaders(outcome, { pending, closing: isClosing(gateway, outcome) });
  return send(request.response, answer, headers);
}

function finish(gateway: Gateway, outcome: RequestOutcome, sent: Sent): void {
  const { request } = outcome;
  if (request.trace !== undefined)
    request.trace.judged(judgedOf(outcome, gateway.recorder.backendOf(request)));
  count(gateway, outcome, sent);
  report(gateway, outcome, sent);
}

/** Records the outcome of a request that somebody else answers. */
export async function concludeUnsent(gateway: Gateway, outcome: RequestOutcome): Promise<void> {
  gateway.shadow?.note(outcome);
  await gateway.recorder.outcome(outcome, 0);
  count(gateway, outcome, NOTHING_SENT);
  report(gateway, outcome, NOTHING_SENT);
}

const NOTHING_SENT: Sent = { bytes: 0, end: 'complete' };

/** Counts a request that names canaries, and freezes its key before the answer if one of them says so. */
async function answerForCanaries(
  { metrics, freezer }: Gateway,
  { canaries = [], principal, route, decisionId }: RequestOutcome['request'],
): Promise<void> {
  const freezing = canaries.filter(({ freeze }) => freeze);
  metrics?.count('canaries', freezing.length > 0 ? 'yes' : 'no');
  if (freezing.length === 0 || principal?.credential.kind !== 'key' || route === undefined) return;
  const restrictions = freezing.map(({ restriction }) => restriction);
  const cause = { restrictions, decisionId, object: canonicalPath(route.object) };
  await freezer?.freeze(principal.credential.id, cause);
}

function judgedOf(
  { request, decision, answer, code }: RequestOutcome,
  backend: string,
): TracedDecision {
  const { route, decisionId } = request;
  const named =
    route === undefined ? {} : { operation: route.operation.name, object: objectPath(route) };
  return { decision, decisionId, ...named, backend, status: answer.status, code };
}

function count({ metrics, recorder }: Gateway, outcome: RequestOutcome, sent: Sent): void {
  const { request, decision, answer, shadow } = outcome;
  if (shadow !== null) metrics?.count('shadowDifferences', shadow.decision);
  metrics?.ended({
    operation: request.route?.operation.name ?? null,
    decision,
    backend: recorder.backendOf(request),
    status: sent.end === 'client-gone' ? CLIENT_DISCONNECTED : answer.status,
    seconds: (performance.now() - request.arrivedMillis) / MILLIS,
    bytesIn: request.body.bytes,
    bytesOut: Number(sent.bytes),
  });
}

/** The size of a body that is at hand, null for one that streams. */
function sizeOf(body: AnswerBody): number | null {
  if (body === null) return 0;
  return typeof body === 'string' ? Buffer.byteLength(body) : (body.whole?.byteLength ?? null);
}

/**
 * A client that waits for `100 Continue` may or may not send its body, so the
 * connection cannot be used again (RFC 9110 section 10.1.1).
 */
function isClosing(gateway: Gateway, outcome: RequestOutcome): boolean {
  return outcome.request.body.waiting || gateway.drain.stopping;
}

/** The outcome of a streamed read, after the client has received all of it or part of it. */
function ended(outcome: RequestOutcome, sent: Sent): RequestOutcome {
  if (sent.end === 'complete') return outcome;
  if (sent.end === 'source-failed') return { ...outcome, code: errorRow('Internal').code };
  return { ...outcome, answer: { ...outcome.answer, status: CLIENT_DISCONNECTED } };
}

function report(gateway: Gateway, outcome: RequestOutcome, sent: Sent): void {
  const failure = outcome.failure ?? sent.error;
  if (failure === undefined) return;
  const { requestId, decisionId, route } = outcome.request;
  gateway.log.error(
    { err: failure, requestId, decisionId, operation: route?.operation.name },
    'internal error of a request',
  );
}
