import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import type { Principal } from '../../protocol/principal.ts';
import type { CommitBook } from '../settings/commit-book.ts';
import type { Circumstances } from '../conditions/circumstances.ts';
import type { WrittenRule } from '../settings/commits.ts';
import type { Limit } from '../settings/limit.ts';
import type { Issuer } from '../settings/issuer.ts';
import type { LimitBook } from '../settings/limit-book.ts';
import type { RestrictionBook } from '../settings/restriction-book.ts';
import type { WrittenRestriction } from '../settings/restrictions.ts';

/** Everything of a policy but the lines that decide. */
export interface PolicySettings {
  /** SHA-256 of the policy's texts, in hexadecimal. */
  readonly digest: string;
  /** `file:line: finding` for lines that can never take effect. */
  readonly remarks: readonly string[];
  readonly issuers: readonly Issuer[];
  readonly limits: readonly Limit[];
  readonly rules: readonly WrittenRule[];
  /** SHA-256 of `commits.yaml`; empty if there is none. */
  readonly commitsDigest: string;
  readonly restrictions: readonly WrittenRestriction[];
}

/** A decision and its reason. */
export interface Verdict {
  readonly allowed: boolean;
  /** The deciding line, as `policy.csv:12`; null where no line decided. */
  readonly rule: string | null;
  /** One phrase for the caller; names no line and reveals nothing of what exists. */
  readonly reason: string;
  /** The sentence for the caller, if it is another one than that the caller may not. */
  readonly sentence?: string;
}

/**
 * A policy as it stood when it was loaded. It never changes; a reload makes a new one.
 * Without circumstances every variable of a condition is missing.
 */
export interface PolicySnapshot {
  /** SHA-256 of the policy's texts, in hexadecimal. */
  readonly digest: string;
  /** `file:line: finding` for lines that can never take effect. */
  readonly remarks: readonly string[];
  /** Issuers of accepted tokens. */
  readonly issuers: readonly Issuer[];
  /** The commit rules. */
  readonly commits: CommitBook;
  /** The row filters and column masks. */
  readonly restrictions: RestrictionBook;
  /** Whether casbin itself decides, line by line, since the model is not the shipped one. */
  readonly slow: boolean;
  /** The limits that were loaded with it. */
  readonly limits: LimitBook;
  /**
   * Whether the principal may do this to the object. For an access group the
   * answer is yes if it is for every operation of the group; `audit`, which
   * has no operation, is a right of its own.
   */
  decide(
    principal: Principal,
    action: Action,
    object: ObjectPath,
    circumstances?: Circumstances,
  ): Verdict;
  /**
   * Whether a listing shows the object: something that is not denied is
   * allowed on it or, for a namespace, on something below it.
   */
  sees(
    principal: Principal,
    object: ObjectPath,
    kind: 'namespace' | 'table',
    circumstances?: Circumstances,
  ): boolean;
  /** Whether there is an object on which the principal may do this, for routes whose objects stand in the body. */
  mayAnywhere(principal: Principal, action: Action, circumstances?: Circumstances): boolean;
  /**
   * Whether the principal certainly may do this to the object and everything that may be below it; `see`
   * for whether a listing would show all of it. False if it is uncertain.
   */
  holdsBelow(principal: Principal, action: Action | 'see', object: ObjectPath): boolean;
}
