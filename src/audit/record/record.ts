import type { CommitSummary } from '../../protocol/commit-summary.ts';
import type { KeyScope } from '../../protocol/principal.ts';

/** Each request leaves an attempt and an outcome, linked by its decision id. */
export type Phase = 'attempt' | 'outcome';

/** Every decision about a request: a row more is a decision more, in every form of the log. */
export const decisions = [
  'allow',
  'deny',
  'unauthenticated',
  'limited',
  /** The policy allowed it, and it needed more than its budget. */
  'over budget',
  'invalid',
  'unavailable',
  /** The policy allowed it, and a commit rule did not. */
  'refused',
] as const;

/** The decision on a request. */
export type Decision = (typeof decisions)[number];

/** Whether the policy allowed the request, whatever its result. */
export function allowedByPolicy(decision: Decision): boolean {
  return decision === 'allow' || decision === 'refused' || decision === 'over budget';
}

/** The names that a policy line could match, as they were when it was decided. */
export interface AuditPrincipal {
  readonly subject: string;
  readonly groups: readonly string[];
  /** The roles of the credential. */
  readonly roles: readonly string[];
  /** The rights that narrowed the credential, where there were any. */
  readonly scopes?: readonly KeyScope[] | null;
}

/** Rights that a request needed beyond its route, query and mode, in order. */
export interface ExtraRights {
  /** An operation or an access group. */
  readonly action: string;
  /** The branch that was named; null where none was. */
  readonly branch: string | null;
  /** Canonical paths. */
  readonly objects: readonly string[];
}

/** The verdict of a shadow policy, if it differs from the decision. */
export interface ShadowVerdict {
  readonly decision: 'allow' | 'deny';
  /** The line of its own that decides: `file:line`. */
  readonly rule: string | null;
  readonly policy_digest: string;
}

/**
 * What the audit log says of a request, under the names of the log (contract
 * section 6). Absent, null and the empty list are the same to the log. There is
 * no field for a secret: a credential is named, never shown.
 */
export interface AuditRecord {
  readonly phase: Phase;
  /** RFC 3339 in UTC, with microseconds: when the request came, or when its outcome was known. */
  readonly time: string;
  /** Microseconds from the request's arrival to its outcome. */
  readonly duration_us?: bigint | number | null;
  readonly request_id: string;
  readonly decision_id: string;
  readonly principal: AuditPrincipal | null;
  readonly subject: string | null;
  /** Id of the key, issuer of the token, or subject of the certificate. */
  readonly credential: string | null;
  readonly source_ip: string | null;
  /** Cut after 256 characters when it is written. */
  readonly user_agent: string | null;
  readonly operation: string | null;
  /** Canonical path of the object of the route. */
  readonly object: string | null;
  /** Canonical paths of further objects that the request named, mostly in its body. */
  readonly objects?: readonly string[];
  readonly mode: string | null;
  readonly branch: string | null;
  readonly backend: string | null;
  readonly decision: Decision;
  /** The policy line that decided: `file:line`. */
  readonly rule: string | null;
  /** Digest of the policy that was in force. */
  readonly policy_digest: string | null;
  /** Rights that the backend requested while it read the body; the last one is the refused one, if any was. */
  readonly rights?: readonly ExtraRights[];
  /** The shadow policy's verdict; null if there is none, or it agrees. */
  readonly shadow?: ShadowVerdict | null;
  /** HTTP status of the answer. */
  readonly status?: number | null;
  /** Code of the error table, for a refusal. */
  readonly code?: number | null;
  /** Bytes of the request's body. */
  readonly bytes_in?: bigint | number | null;
  /** Bytes of the answer's body. */
  readonly bytes_out?: bigint | number | null;
  /** The request's context, redacted. */
  readonly context: Readonly<Record<string, string>>;
  /** The request's changes to a table. */
  readonly commit?: CommitSummary | null;
}

/** A record as it stands in the log. */
export interface LoggedRecord extends Required<AuditRecord> {
  readonly duration_us: bigint | null;
  readonly bytes_in: bigint | null;
  readonly bytes_out: bigint | null;
  /** The start of a gateway process that wrote it: the name of its folder. */
  readonly instance: string;
  /** Its place in the instance's log, from 1 and without gaps. */
  readonly sequence: bigint;
  /** Links it to the record before: see `Chain`. */
  readonly hash: string;
}
