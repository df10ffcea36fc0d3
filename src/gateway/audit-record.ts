import type { AskedRights, AuditPrincipal, AuditRecord } from '../audit/record.ts';
import { timeOf } from '../audit/time.ts';
import { canonicalPath } from '../protocol/identifier.ts';
import { queryMode } from '../protocol/mode.ts';
import type { Credential, Principal } from '../protocol/principal.ts';
import type { Outcome } from './outcome.ts';
import type { Known } from './steps.ts';

export interface RecordOptions {
  /** Hides the values of the context that must not be recorded. */
  readonly redact: (context: ReadonlyMap<string, string>) => Readonly<Record<string, string>>;
  /** Name of the backend, or of that which a route is for. */
  readonly backend: string | ((route: Known['route']) => string);
}

/** The record of a request that begins, or that was refused before it could. */
export function attemptRecord(
  known: Known,
  options: RecordOptions,
  refused?: Outcome,
): AuditRecord {
  return {
    phase: 'attempt',
    time: timeOf(known.arrivedMicros),
    ...shared(known, options),
    decision: refused?.decision ?? 'allow',
    rule: (refused ?? known).rule ?? null,
    policy_digest: refused?.policyDigest ?? known.permit?.policyDigest ?? null,
    shadow:
      refused === undefined ? (known.permit?.trial?.difference('allow') ?? null) : refused.shadow,
  };
}

/** The record of how a request ended. */
export function outcomeRecord(
  outcome: Outcome,
  bytesOut: bigint | null,
  options: RecordOptions,
): AuditRecord {
  const { known, answer } = outcome;
  const micros = (process.hrtime.bigint() - known.arrivedNanos) / 1000n;
  return {
    phase: 'outcome',
    time: timeOf(known.arrivedMicros + micros),
    duration_us: micros,
    ...shared(known, options),
    objects: objectsOf(outcome),
    ...(answer.mode === undefined ? {} : { mode: answer.mode }),
    ...(answer.branch === undefined ? {} : { branch: answer.branch }),
    decision: outcome.decision,
    rule: outcome.rule,
    policy_digest: outcome.policyDigest,
    shadow: outcome.shadow,
    status: answer.status,
    code: outcome.code,
    bytes_in: known.body.bytes,
    bytes_out: bytesOut,
    ...(answer.commit === undefined ? {} : { commit: answer.commit }),
  };
}

function shared(known: Known, options: RecordOptions) {
  const { principal, route, incoming } = known;
  return {
    request_id: known.requestId,
    decision_id: known.decisionId,
    principal: principal === undefined ? null : namesOf(principal),
    subject: principal?.subject ?? null,
    credential: principal === undefined ? null : credentialName(principal.credential),
    source_ip: known.sourceIp,
    user_agent: incoming.headers['user-agent'] ?? null,
    operation: route?.operation.name ?? null,
    object: route === undefined ? null : canonicalPath(route.object),
    mode: route === undefined ? null : (queryMode(route.operation, route.query) ?? null),
    branch: route?.query.get('branch')?.[0] ?? null,
    backend: backendOf(known, options),
    rights: rightsOf(known),
    context: known.context === undefined ? {} : options.redact(known.context),
  };
}

/** What is only described goes to a backend that is not known here. */
export function backendOf({ described, route }: Known, { backend }: RecordOptions): string | null {
  if (described === true) return null;
  return typeof backend === 'string' ? backend : backend(route);
}

function namesOf({ subject, groups, roles, scopes }: Principal): AuditPrincipal {
  return { subject, groups, roles, ...(scopes === undefined ? {} : { scopes }) };
}

/** What names a credential in the log; never what proves it. */
function credentialName(credential: Credential): string {
  if (credential.kind === 'key') return credential.id;
  return credential.kind === 'token' ? credential.issuer : credential.subject;
}

/** What was asked for beyond the operation on its object and branch: the target of the route first. */
function rightsOf({ route, permit }: Known): readonly AskedRights[] {
  const asked = permit?.rights ?? [];
  const target = route?.target;
  if (target === undefined) return asked;
  return [{ action: 'CreateTable', branch: null, objects: [canonicalPath(target)] }, ...asked];
}

/** The objects that stand beside the one of the route: in it, or in the body. */
function objectsOf({ known, answer }: Outcome): readonly string[] {
  const target = known.route?.target;
  const asked = [...(known.permit?.asked ?? []), ...(answer.objects ?? [])];
  if (target === undefined && asked.length === 0) return [];
  const paths = (target === undefined ? asked : [target, ...asked]).map(canonicalPath);
  return [...new Set(paths)];
}
