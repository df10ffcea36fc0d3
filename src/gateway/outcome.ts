import type { Decision, ShadowVerdict } from '../audit/record/record.ts';
import type { Answer } from '../protocol/backend.ts';
import { namedText, type Rooted } from '../protocol/database.ts';
import { dialectOf, statusOf } from '../protocol/dialect.ts';
import { OverBudget } from '../protocol/budget.ts';
import { RuleRefusal } from '../rules/commit-rule.ts';
import { CatalogError, TryAgain } from '../protocol/errors.ts';
import { isOutOfDescriptors } from '../storage/storage-error.ts';
import { isDisconnected } from './http/message.ts';
import { Denied, type SnapshotPermit } from './decision/permit.ts';
import { rateLimitHeaders } from './decision/rate-limit-headers.ts';
import { MethodRefused, targetPath } from './route.ts';
import type { Answered, RefusedRequest } from './decision/steps.ts';
import { FAILURES_LIMIT, TooManyFailures } from './identity/failure-limit.ts';
import { Throttled } from './decision/throttled.ts';

/** Outcome of a request: its answer, and its decision for the audit log. */
export interface RequestOutcome {
  readonly request: RefusedRequest;
  readonly decision: Decision;
  /** The policy line behind the decision; of a commit that a rule refused, the rule. */
  readonly rule: string | null;
  /** Why it was denied, as far as the caller may know. */
  readonly reason?: string;
  readonly policyDigest: string | null;
  /** The verdict of the shadow policy where it differs. */
  readonly shadow: ShadowVerdict | null;
  /** Names of the restrictions that bind the caller on the object of the route. */
  readonly restrictions: readonly string[];
  readonly answer: Answer;
  /** Code of the error table, for a refusal. */
  readonly code: number | null;
  /** The internal error, for the log only. */
  readonly failure?: unknown;
}

/** The status, in the audit log, of a client that disconnected before its answer. It is never sent. */
export const CLIENT_DISCONNECTED = 499;

/** The outcome of a request that the backend answered. */
export function success(answered: Answered): RequestOutcome {
  return {
    request: answered,
    decision: 'allow',
    rule: answered.rule,
    policyDigest: answered.permit.policyDigest,
    shadow: answered.permit.trial?.difference('allow', answered.permit.restrictions) ?? null,
    restrictions: answered.permit.restrictionNames,
    answer: inNames(answered),
    code: answered.answer.code ?? null,
  };
}

/** The answer of a backend. Object names in a refusal become those of the request. */
function inNames({ answer, route }: Answered): Answer {
  const { body, code } = answer;
  if (code === undefined || typeof body !== 'string' || route.root === undefined) return answer;
  return { ...answer, body: namedText(route, body) };
}

/** The outcome of a request that was refused, or that failed, when `known` was known of it. */
export function refusal(request: RefusedRequest, error: unknown): RequestOutcome {
  const refused = asCatalogError(error);
  const denied = refused instanceof Denied ? refused : undefined;
  const decision = decisionOf(request, refused);
  const permit = denied?.permit ?? request.permit;
  return {
    request,
    decision,
    rule:
      ruleOf(refused) ??
      (decision === 'deny' ? (permit?.refused?.rule ?? null) : (request.rule ?? null)),
    ...(refused.row.name === 'PermissionDenied'
      ? { reason: namedText(rootedBy(request), reasonOf(refused)) }
      : {}),
    policyDigest: permit?.policyDigest ?? null,
    shadow: differenceOf(permit, decision),
    restrictions: permit?.restrictionNames ?? [],
    ...answerOf(request, refused, error),
  };
}

/** Difference of the shadow policy; null for a refusal that the policy did not cause. */
function differenceOf(
  permit: SnapshotPermit | undefined,
  decision: Decision,
): ShadowVerdict | null {
  if (permit === undefined || (decision === 'deny' && permit.refused === undefined)) return null;
  return permit.trial?.difference(decision, permit.restrictions) ?? null;
}

const NO_DESCRIPTORS =
  'the gateway can open no more files (ulimit -n): send fewer requests at once, or raise the limit';
/** `Retry-After` of such a request, in seconds. */
const RETRY_SECONDS = '5';

/** An internal error becomes one without details. */
function asCatalogError(error: unknown): CatalogError {
  if (error instanceof CatalogError) return error;
  if (isOutOfDescriptors(error)) return new TryAgain(NO_DESCRIPTORS, RETRY_SECONDS);
  return new CatalogError('Internal', 'internal error');
}

/** The policy line, commit rule or limit that refused the request. */
function ruleOf(refused: CatalogError): string | null {
  if (refused instanceof RuleRefusal) return refused.rule;
  if (refused instanceof Throttled) return refused.rule;
  if (refused instanceof TooManyFailures) return FAILURES_LIMIT;
  return refused instanceof Denied ? refused.verdict.rule : null;
}

function decisionOf(request: RefusedRequest, refused: CatalogError): Decision {
  const { row } = refused;
  if (row.name === 'PermissionDenied') return 'deny';
  if (refused instanceof OverBudget) return 'over budget';
  if (refused instanceof RuleRefusal) return 'refused';
  if (request.attempt?.failed === false) return 'allow';
  if (row.name === 'Unauthenticated') return 'unauthenticated';
  if (row.name === 'Throttling') return 'limited';
  return row.status >= 500 ? 'unavailable' : 'invalid';
}

/** Why it was denied, as a header may have it. */
function reasonOf(refused: CatalogError): string {
  const reason = refused instanceof Denied ? verdictReason(refused) : refused.message;
  return reason.replace(/[^\x20-\x7e]/g, '?');
}

/** Only callers with `manage` learn the line that denied a request. */
function verdictReason({ verdict, permit }: Denied): string {
  const named = verdict.rule !== null && permit.holds('manage', []);
  return named ? `${verdict.reason} (${verdict.rule})` : verdict.reason;
}

function answerOf(
  request: RefusedRequest,
  refused: CatalogError,
  error: unknown,
): Pick<RequestOutcome, 'answer' | 'code' | 'failure'> {
  const answered = { answer: refusalAnswer(request, refused), code: refused.row.code };
  if (error instanceof CatalogError) return answered;
  return isDisconnected(request.response)
    ? { answer: { status: CLIENT_DISCONNECTED, body: null }, code: null }
    : { ...answered, failure: error };
}

/** The answer, with the summary of a commit that a rule refused. */
function refusalAnswer(request: RefusedRequest, refused: CatalogError): Answer {
  const answer = errorAnswer(request, refused);
  const commit = refused instanceof RuleRefusal ? refused.commit : undefined;
  return commit === undefined ? answer : { ...answer, commit };
}

function errorAnswer(request: RefusedRequest, error: CatalogError): Answer {
  return {
    status: statusFor(request, error),
    contentType: 'application/json',
    headers: headersFor(error),
    body: errorBody(error, request.requestId, rootedBy(request)),
  };
}

/** The root of the names in a request. */
function rootedBy({ route }: RefusedRequest): Rooted {
  return route ?? {};
}

/** The body of every error: `{"error","code","detail"?,"instance"}`. */
export function errorBody(error: CatalogError, requestId: string, names: Rooted = {}): string {
  return JSON.stringify({
    error: namedText(names, error.message),
    code: error.row.code,
    ...(error.detail === undefined ? {} : { detail: namedText(names, error.detail) }),
    instance: requestId,
  });
}

function statusFor(request: RefusedRequest, error: CatalogError): number {
  if (error instanceof MethodRefused) return 405;
  const { url = '', headers } = request.incoming;
  const dialect = request.route?.dialect ?? dialectOf(targetPath(url), headers['user-agent']);
  return statusOf(error.row, dialect, request.route?.operation.name);
}

/** The headers that belong to an error. */
export function headersFor(error: CatalogError): Readonly<Record<string, string>> {
  if (error instanceof MethodRefused) return { allow: error.allow.join(', ') };
  if (error instanceof TooManyFailures) return { 'retry-after': String(error.retryAfter) };
  if (error.row.name === 'Unauthenticated')
    return { 'www-authenticate': 'Bearer realm="arrowgate"' };
  if (error instanceof TryAgain && error.retryAfter !== undefined)
    return { 'retry-after': error.retryAfter };
  if (error instanceof Throttled) {
    return { ...rateLimitHeaders(error.limits), 'retry-after': String(error.retrySeconds) };
  }
  return {};
}
