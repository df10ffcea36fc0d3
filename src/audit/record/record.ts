import type { CommitSummary } from '../../protocol/commit-summary.ts';
import type { KeyScope } from '../../protocol/principal.ts';
import type { ReadSummary } from '../../protocol/read-summary.ts';
import type { VendSummary } from '../../protocol/vend-summary.ts';

/** Each request leaves an attempt and an outcome, linked by its decision id. */
export type Phase = 'attempt' | 'outcome';

/** All decisions about a request, in every form of the log. */
export const decisions = [
  'allow',
  'deny',
  'unauthenticated',
  'limited',
  /** The policy allowed the request, and it exceeded its budget. */
  'over budget',
  'invalid',
  'unavailable',
  /** The policy allowed the request, and a commit rule refused it. */
  'refused',
] as const;

/** The decision on a request. */
export type Decision = (typeof decisions)[number];

/** Whether the policy allowed the request, whatever its result. */
export function allowedByPolicy(decision: Decision): boolean {
  return decision === 'allow' || decision === 'refused' || decision === 'over budget';
}

/** Names of the caller that a policy line can match, at the time of the decision. */
export interface AuditPrincipal {
  readonly subject: string;
  readonly groups: readonly string[];
  /** Roles of the credential. */
  readonly roles: readonly string[];
  /** Scopes of the credential, if it has any. */
  readonly scopes?: readonly KeyScope[] | null;
}

/** Rights that a request needed beyond its route, query and mode, in order. */
export interface ExtraRights {
  /** An operation or an access group. */
  readonly action: string;
  /** Branch; null if the request named none. */
  readonly branch: string | null;
  /** Canonical paths. */
  readonly objects: readonly string[];
}

/**
 * What a shadow policy would do otherwise: its decision, or, of a request that both policies allow, whether the caller
 * would see fewer rows and columns of the table, more, or other ones.
 */
export const shadowDecisions = ['allow', 'deny', 'fewer', 'more', 'other'] as const;

/** The verdict of a shadow policy, if it differs from the decision. */
export interface ShadowVerdict {
  readonly decision: (typeof shadowDecisions)[number];
  /** Line of the shadow policy that decides: `file:line`. */
  readonly rule: string | null;
  readonly policy_digest: string;
}

/**
 * A record of a request, with the field names of the log (`docs/guide/audit.md`). The log
 * does not distinguish absent, null and the empty list. No field holds a secret: a credential
 * is named, never shown.
 */
export interface AuditRecord {
  readonly phase: Phase;
  /** RFC 3339 in UTC with microseconds: arrival of the request, or time of its outcome. */
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
  /** Truncated to 256 characters in the log. */
  readonly user_agent: string | null;
  readonly operation: string | null;
  /** Canonical path of the object of the route. */
  readonly object: string | null;
  /** Canonical paths of further objects, mostly named in the body. */
  readonly objects?: readonly string[];
  readonly mode: string | null;
  readonly branch: string | null;
  readonly backend: string | null;
  readonly decision: Decision;
  /** Policy line that decided: `file:line`. */
  readonly rule: string | null;
  /** Digest of the policy in force. */
  readonly policy_digest: string | null;
  /** Rights that the backend requested while it read the body; a refused right is the last. */
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
  /** Names of the restrictions that bind the caller on the object. */
  readonly restrictions?: readonly string[];
  /** What the request read of a table. */
  readonly read?: ReadSummary | null;
  /** The credentials that the caller got for a table in an object store. */
  readonly vended?: VendSummary | null;
  /** Names of the restrictions whose canaries the request names, separated by spaces. */
  readonly canary?: string | null;
}

export interface LoggedRecord extends Required<AuditRecord> {
  readonly duration_us: bigint | null;
  readonly bytes_in: bigint | null;
  readonly bytes_out: bigint | null;
  /** Instance that wrote it, which is the name of its folder. */
  readonly instance: string;
  /** Number in the instance's chain, from 1 and without gaps. */
  readonly sequence: bigint;
  /** Links it to the previous record: see `HashChain`. */
  readonly hash: string;
}
