import { canonicalPath, type ObjectPath } from '../protocol/identifier.ts';
import type { Action } from '../protocol/operations/operation.ts';
import type { Freeze } from './zone-clock.ts';
import type { CommitSummary } from '../protocol/commit-summary.ts';
import { CatalogError } from '../protocol/errors.ts';
import { SqlError } from '../sql/values/sql-error.ts';
import { parseExpression } from '../sql/parse.ts';
import type { Expression } from '../sql/values/expression.ts';

/** The refusal of a commit by a rule: names rule, table and first violation. */
export class RuleRefusal extends CatalogError {
  /** Position of the rule, as `commits.yaml:12`. */
  readonly rule: string;
  #commit: CommitSummary | undefined;

  constructor(rule: Pick<CommitRule, 'name' | 'line'>, table: ObjectPath, fault: string) {
    super(
      'TableSchemaValidationError',
      `the commit rule ${rule.name} refuses this of ${canonicalPath(table)}: ${fault}`,
    );
    this.name = 'RuleRefusal';
    this.rule = `${COMMITS_FILE}:${rule.line}`;
  }

  /** Summary of the commit, for the audit record; undefined if unknown. */
  get commit(): CommitSummary | undefined {
    return this.#commit;
  }

  /** The refusal, with the summary of its commit. */
  of(commit: CommitSummary): this {
    this.#commit = commit;
    return this;
  }
}

export const COMMITS_FILE = 'commits.yaml';

/** A type of the namespace vocabulary: its name and parameters. */
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

/** The demands of a rule. An absent key demands nothing. */
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
  readonly keep_versions?: true;
  readonly protected_tags?: readonly string[];
  readonly protected_branches?: readonly string[];
  /** Absolute paths of folders, without a slash at the end. */
  readonly locations?: readonly string[];
  /** In lower case. */
  readonly context?: readonly string[];
  readonly freeze?: readonly Freeze[];
}

export type RequirementName = keyof Requirements;

/** A remote program that judges commits. */
export interface Webhook {
  readonly url: string;
  readonly timeoutMillis: number;
  /** The verdict when the webhook gives none. */
  readonly onFailure: 'open' | 'closed';
  /** Name of the variable that holds the key of the signatures; never the key. */
  readonly secretEnv: string;
}

/** One rule of `commits.yaml`. */
export interface CommitRule {
  readonly name: string;
  /** Position in the file. */
  readonly line: number;
  /** Its patterns as they are written, for messages. */
  readonly tables: readonly string[];
  readonly covers: (table: ObjectPath) => boolean;
  /** The operations that it is about, and the access groups that it names; null for every mutation. */
  readonly actions: ReadonlySet<Action> | null;
  /** False if violations are recorded but not refused. */
  readonly enforced: boolean;
  readonly require: Requirements;
  readonly webhook: Webhook | null;
}

/** The rules for one principal. */
export interface RuleSet {
  /** Changes with any rule. */
  readonly digest: string;
  readonly rules: readonly CommitRule[];
}

/** The fault in the SQL of a check that any table would show; undefined if there is none. */
export function checkSyntaxFault(text: string): string | undefined {
  try {
    parseExpression(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    return `the check cannot be read: ${error.message}`;
  }
}

/** The columns that the SQL of a check names, each once, as they are written. @throws SqlError */
export function columnsInCheck(text: string): readonly string[] {
  return columnsOf(parseExpression(text));
}

/** The first names of the columns that an expression names. */
export function columnsOf(expression: Expression): readonly string[] {
  const found = new Set<string>();
  collect(expression, found);
  return [...found];
}

function collect(node: unknown, found: Set<string>): void {
  if (typeof node !== 'object' || node === null) return;
  if (isColumn(node)) found.add(node.path[0].text);
  for (const value of Object.values(node)) collect(value, found);
}

function isColumn(node: object): node is { readonly path: readonly [{ readonly text: string }] } {
  return 'kind' in node && node.kind === 'column' && 'path' in node;
}
