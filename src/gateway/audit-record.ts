import { hash } from 'node:crypto';
import type { CommitSummary } from '../protocol/commit-summary.ts';
import type { ExtraRights, AuditPrincipal, AuditRecord } from '../audit/record/record.ts';
import { timeOf } from '../audit/record/time.ts';
import { canonicalPath } from '../protocol/identifier.ts';
import { queryMode } from '../protocol/mode.ts';
import type { Credential, Principal } from '../protocol/principal.ts';
import { objectPath } from './decision/known-route.ts';
import type { RequestOutcome } from './outcome.ts';
import type { RefusedRequest } from './decision/steps.ts';

/** In a millisecond. */
const MICROS = 1000;

export interface RecordOptions {
  /** Hides the values of the context that must not be recorded. */
  readonly redact: (context: ReadonlyMap<string, string>) => Readonly<Record<string, string>>;
  /** Form of recorded predicates and expressions; text by default. */
  readonly statements?: StatementForm;
  /** Name of the backend, or of that which a route is for. */
  readonly backend: string | ((route: RefusedRequest['route']) => string);
}

/** The record of a request that begins, or that was refused before it could. */
export function attemptRecord(
  request: RefusedRequest,
  options: RecordOptions,
  refused?: RequestOutcome,
): AuditRecord {
  return recordOf(request, options, {
    phase: 'attempt',
    micros: null,
    decision: refused?.decision ?? 'allow',
    rule: (refused ?? request).rule ?? null,
    policyDigest: refused?.policyDigest ?? request.permit?.policyDigest ?? null,
    shadow:
      refused === undefined ? (request.permit?.trial?.difference('allow') ?? null) : refused.shadow,
    restrictions: refused?.restrictions ?? request.permit?.restrictionNames ?? none,
    objects: none,
    bytesOut: null,
  });
}

/** The record of how a request ended. */
export function outcomeRecord(
  outcome: RequestOutcome,
  bytesOut: bigint | number | null,
  options: RecordOptions,
): AuditRecord {
  const { request, decision, rule, policyDigest } = outcome;
  const micros = Math.max(0, Math.floor((performance.now() - request.arrivedMillis) * MICROS));
  const { shadow, restrictions } = outcome;
  const objects = objectsOf(outcome);
  return recordOf(
    request,
    options,
    {
      phase: 'outcome',
      micros,
      decision,
      rule,
      policyDigest,
      shadow,
      restrictions,
      objects,
      bytesOut,
    },
    outcome,
  );
}

/** Fields that the attempt and the outcome of a request share. */
interface RecordFields extends Pick<
  RequestOutcome,
  'decision' | 'rule' | 'policyDigest' | 'shadow' | 'restrictions'
> {
  readonly phase: AuditRecord['phase'];
  /** Microseconds since it came; null for the record of its beginning. */
  readonly micros: number | null;
  readonly objects: readonly string[];
  readonly bytesOut: bigint | number | null;
}

/** One literal without copies of others: two are made for each request. */
function recordOf(
  request: RefusedRequest,
  options: RecordOptions,
  said: RecordFields,
  ended?: RequestOutcome,
): AuditRecord {
  const { principal, route } = request;
  const { micros } = said;
  const answer = ended?.answer;
  return {
    phase: said.phase,
    time: timeOf(request.arrivedMicros + (micros ?? 0)),
    duration_us: micros,
    request_id: request.requestId,
    decision_id: request.decisionId,
    principal: principal === undefined ? null : knownNames(principal),
    subject: principal?.subject ?? null,
    credential: principal === undefined ? null : credentialName(principal.credential),
    source_ip: request.sourceIp,
    user_agent: request.incoming.headers['user-agent'] ?? null,
    operation: route?.operation.name ?? null,
    object: route === undefined ? null : objectPath(route),
    objects: said.objects,
    mode: answer?.mode ?? modeOf(route),
    branch: answer?.branch ?? route?.query.get('branch')?.[0] ?? null,
    backend: backendOf(request, options),
    decision: said.decision,
    rule: said.rule,
    policy_digest: said.policyDigest,
    rights: rightsOf(request),
    shadow: said.shadow,
    status: answer?.status ?? null,
    code: ended?.code ?? null,
    bytes_in: ended === undefined ? null : request.body.bytes,
    bytes_out: said.bytesOut,
    context: contextOf(request, options),
    commit: answer?.commit === undefined ? null : recordedCommit(answer.commit, options),
    restrictions: said.restrictions,
    canary: request.canaries?.map(({ restriction }) => restriction).join(' ') ?? null,
    read: answer?.read === undefined ? null : { ...answer.read, rows: answer.read.rows() },
    vended: answer?.vended ?? null,
  };
}

/** Form of a recorded statement: its text, its digest, or nothing. */
type StatementForm = 'text' | 'digest' | 'off';

/** A longer statement is cut, in bytes of UTF-8. */
const STATEMENT_BYTES = 2048;
const CUT = '…';

function recordedCommit(commit: CommitSummary, { statements = 'text' }: RecordOptions) {
  const { statement = null } = commit;
  return statement === null ? commit : { ...commit, statement: formed(statement, statements) };
}

function formed(statement: string, form: StatementForm): string | null {
  if (form === 'off') return null;
  if (form === 'digest') return `sha256:${hash('sha256', statement, 'hex')}`;
  const bytes = Buffer.from(statement.slice(0, STATEMENT_BYTES + 1));
  if (bytes.length <= STATEMENT_BYTES) return statement;
  let end = STATEMENT_BYTES - Buffer.byteLength(CUT);
  // Not within a character.
  while ((bytes[end]! & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end) + CUT;
}

function modeOf(route: RefusedRequest['route']): string | null {
  return route === undefined ? null : (queryMode(route.operation, route.query) ?? null);
}

/** Described requests go to a backend that this gateway does not know. */
export function backendOf(
  { described, route }: RefusedRequest,
  { backend }: RecordOptions,
): string | null {
  if (described === true) return null;
  return typeof backend === 'string' ? backend : backend(route);
}

const nothing: AuditRecord['context'] = {};

/** Prefix of the keys of a body's context. No header has such a key: a header name cannot contain a colon. */
const BODY_KEY = 'body:';

/** The context of the headers under its keys, and that of the body under keys that begin with `body:`. */
function contextOf({ context, bodyContext }: RefusedRequest, { redact }: RecordOptions) {
  const sent = context === undefined || context.size === 0 ? nothing : redact(context);
  if (bodyContext === undefined) return sent;
  const own = Object.entries(redact(bodyContext));
  return { ...sent, ...Object.fromEntries(own.map(([key, value]) => [BODY_KEY + key, value])) };
}

/** A key has the same principal as long as its file is the same. */
const named = new WeakMap<Principal, AuditPrincipal>();

function knownNames(principal: Principal): AuditPrincipal {
  let names = named.get(principal);
  if (names === undefined) named.set(principal, (names = namesOf(principal)));
  return names;
}

function namesOf({ subject, groups, roles, scopes }: Principal): AuditPrincipal {
  return { subject, groups, roles, ...(scopes === undefined ? {} : { scopes }) };
}

/** Identifies a credential in the log; never contains a secret. */
export function credentialName(credential: Credential): string {
  if (credential.kind === 'key') return credential.id;
  if (credential.kind === 'host') return 'host';
  return credential.kind === 'token' ? credential.issuer : credential.subject;
}

/** Rights needed besides the operation on its object and branch: the target of the route first. */
function rightsOf({ route, permit }: RefusedRequest): readonly ExtraRights[] {
  const requested = permit === undefined || permit.isEmpty ? noRights : permit.rights;
  const target = route?.target;
  if (target === undefined) return requested;
  return [{ action: 'CreateTable', branch: null, objects: [canonicalPath(target)] }, ...requested];
}

const none: readonly string[] = [];
const noRights: readonly ExtraRights[] = [];

/** The objects that stand beside the one of the route: in it, or in the body. */
function objectsOf({ request, answer }: RequestOutcome): readonly string[] {
  const target = request.route?.target;
  if (target === undefined && request.permit?.isEmpty !== false && answer.objects === undefined) {
    return none;
  }
  const requested = [...(request.permit?.checkedObjects ?? []), ...(answer.objects ?? [])];
  const paths = (target === undefined ? requested : [target, ...requested]).map(canonicalPath);
  return [...new Set(paths)];
}
