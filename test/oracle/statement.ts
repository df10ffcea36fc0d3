import type { LanceIndexType } from '../../src/engine/versions/managed/lance-library.ts';
import type { DataType } from 'apache-arrow';
import type { Column } from './value.ts';

/** The rows that a query answers. */
export interface QueryStatement {
  readonly kind: 'query';
  readonly columns: readonly string[] | Readonly<Record<string, string>> | null;
  readonly filter: string | null;
  readonly order: readonly {
    readonly column: string;
    readonly ascending: boolean;
    readonly nullsFirst: boolean;
  }[];
  readonly limit: number | null;
  readonly offset: number;
  /** Which of the versions so far, counted from the first; null for the newest. */
  readonly version: number | null;
}

export interface NearestStatement {
  readonly kind: 'nearest';
  readonly column: string;
  readonly vector: readonly number[];
  readonly metric: 'l2' | 'cosine' | 'dot';
  readonly limit: number;
  readonly offset: number;
  readonly filter: string | null;
  readonly prefilter: boolean;
  readonly bounds: readonly [number | null, number | null];
}

export interface MergeStatement {
  readonly kind: 'merge';
  readonly rows: readonly Column[];
  readonly on: readonly string[];
  readonly update: boolean;
  readonly updateIf: string | null;
  readonly insert: boolean;
  readonly remove: boolean;
  readonly removeIf: string | null;
}

/** What Lance tables have beside their rows. */
type LanceStatement =
  | {
      readonly kind: 'tag';
      readonly action: 'create' | 'update' | 'delete';
      readonly name: string;
      readonly version: number;
    }
  | {
      readonly kind: 'branch';
      readonly action: 'create' | 'insert' | 'delete';
      readonly name: string;
      readonly version: number;
      readonly rows: readonly Column[];
    }
  | {
      readonly kind: 'index';
      readonly name: string;
      readonly column: string;
      readonly type: LanceIndexType;
    }
  | { readonly kind: 'unindex'; readonly name: string }
  | { readonly kind: 'compact' }
  | { readonly kind: 'stats' };

/** What is asked of a table. */
export type Statement =
  | LanceStatement
  | QueryStatement
  | NearestStatement
  | MergeStatement
  | { readonly kind: 'count'; readonly filter: string | null; readonly version: number | null }
  | { readonly kind: 'insert'; readonly rows: readonly Column[]; readonly overwrite: boolean }
  | { readonly kind: 'delete'; readonly filter: string }
  | {
      readonly kind: 'update';
      readonly values: Readonly<Record<string, string>>;
      readonly filter: string | null;
    }
  | { readonly kind: 'add'; readonly name: string; readonly expression: string }
  | { readonly kind: 'drop'; readonly name: string }
  | { readonly kind: 'rename'; readonly name: string; readonly to: string }
  | {
      readonly kind: 'retype';
      readonly name: string;
      readonly type: DataType;
      /** The type in the protocol's words. */
      readonly typeName: string;
    }
  | { readonly kind: 'restore'; readonly version: number };

const besideVersions = ['query', 'nearest', 'count', 'tag', 'branch', 'stats'] as const;

/** Whether a statement makes a version of the table. */
export function makesVersion({ kind }: Statement): boolean {
  return !besideVersions.some((other) => other === kind);
}

/** The statements that change rows or columns. */
export type Change = Exclude<
  Statement,
  LanceStatement | { readonly kind: 'query' | 'nearest' | 'count' }
>;

/** The other statements of Lance tables. */
export type Aside = LanceStatement;

/** Those of them. */
export function isAside(statement: Statement): statement is Aside {
  return ['tag', 'branch', 'index', 'unindex', 'compact', 'stats'].includes(statement.kind);
}

/** A table and what is asked of it, one thing after another. */
export interface Program {
  readonly seed: number;
  readonly create: readonly Column[];
  readonly statements: readonly Statement[];
}

/** What a side answers to a statement. */
export type Outcome =
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'rows'; readonly columns: readonly Column[] }
  /** What a side tells beside rows: one text for each tag, branch, index or number. */
  | { readonly kind: 'told'; readonly lines: readonly string[] }
  /** A change, how many rows it was of as far as that is told, and the rows afterwards. */
  | {
      readonly kind: 'changed';
      readonly counts: readonly number[];
      readonly columns: readonly Column[];
    };

/** One of the two that answer. */
export interface Side {
  create(rows: readonly Column[]): Promise<void>;
  /** Never throws for a refusal. */
  run(statement: Statement): Promise<Outcome>;
}
