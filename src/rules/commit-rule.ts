import type { ObjectPath } from '../protocol/identifier.ts';
import type { Action } from '../protocol/operation.ts';
import type { Freeze } from './freeze.ts';

/** The file of the commit rules. */
export const COMMITS_FILE = 'commits.yaml';

/** A type as the namespace vocabulary writes it: its name, and what belongs to it. */
export interface PlainType {
  readonly type: string;
  readonly fields?: readonly PlainField[];
  readonly length?: number;
}

/** A field of a type. */
export interface PlainField {
  readonly name: string;
  readonly type: PlainType;
  readonly nullable: boolean;
}

/** A column that a table must have. */
export interface RequiredColumn {
  readonly name: string;
  readonly type: PlainType;
  /** Absent for either. */
  readonly nullable?: boolean;
}

/** What a rule demands (contract section 5). An absent key demands nothing. */
export interface Requirements {
  readonly append_only?: true;
  readonly schema?: 'additive' | 'locked';
  readonly columns?: readonly RequiredColumn[];
  /** SQL that must be true of every new or changed row. */
  readonly check?: string;
  readonly unique?: readonly string[];
  readonly max_rows?: bigint;
  readonly max_bytes?: bigint;
  /** From 0 to 1. */
  readonly max_removed_share?: number;
  readonly no_drop?: true;
  readonly protected_tags?: readonly string[];
  readonly protected_branches?: readonly string[];
  /** Absolute paths of folders, without a slash at the end. */
  readonly locations?: readonly string[];
  /** In lower case. */
  readonly context?: readonly string[];
  readonly freeze?: readonly Freeze[];
}

export type RequirementName = keyof Requirements;

/** A program elsewhere that is asked about commits. */
export interface Webhook {
  readonly url: string;
  readonly timeoutMillis: number;
  /** What counts when it gives no verdict. */
  readonly onFailure: 'open' | 'closed';
  /** Name of the variable that holds the key of the signatures; never the key. */
  readonly secretEnv: string;
}

/** One rule of `commits.yaml`. */
export interface CommitRule {
  readonly name: string;
  /** Where it stands in the file. */
  readonly line: number;
  /** Its patterns as they are written, for messages. */
  readonly tables: readonly string[];
  readonly covers: (table: ObjectPath) => boolean;
  /** The operations that it is about, and the access groups that it names; null for every mutation. */
  readonly actions: ReadonlySet<Action> | null;
  /** False when what breaks it is noted and not refused. */
  readonly enforced: boolean;
  readonly require: Requirements;
  readonly webhook: Webhook | null;
}

/** The rules that count for one principal. */
export interface RuleSet {
  /** Another one once any rule is. */
  readonly digest: string;
  readonly rules: readonly CommitRule[];
}
