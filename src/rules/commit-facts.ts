import type { ObjectPath } from '../protocol/identifier.ts';
import type { OperationName } from '../protocol/operations/operation-name.ts';
import type { Action } from '../protocol/operations/operation.ts';
import type { PlainType, CommitRule } from './commit-rule.ts';

/** A column of a table. */
export interface ColumnFacts {
  readonly name: string;
  /** The exact type, as a unique text. */
  readonly exact: string;
  /** The type in the namespace vocabulary. */
  readonly plain: PlainType;
  readonly nullable: boolean;
  /** Ids of the column, independent of its name; of all levels of a nested column. */
  readonly ids: readonly number[];
}

/** A data file: which columns lie in it, by their ids. */
interface FileFacts {
  readonly path: string;
  readonly bytes: bigint;
  readonly ids: readonly number[];
}

/** Some rows of a table. */
export interface FragmentFacts {
  /** Permanent identity of the file. */
  readonly key: string;
  /** Rows that are not deleted. */
  readonly rows: bigint;
  readonly files: readonly FileFacts[];
  /** Identity of the list of its deleted rows; null without one. */
  readonly deletions: string | null;
}

/** A table at one version, as described by its manifest. */
export interface TableState {
  readonly columns: readonly ColumnFacts[];
  readonly fragments: readonly FragmentFacts[];
}

/** The changes of a version against its predecessor. */
export interface VersionChange {
  /** Null for the first version of a table. */
  readonly before: TableState | null;
  readonly after: TableState;
  readonly rowsBefore: bigint;
  readonly rowsAdded: bigint;
  /** Rows that were deleted or overwritten. */
  readonly rowsRemoved: bigint;
  /** Rows that stay and have other values. */
  readonly rowsChanged: bigint;
  /** Bytes of data files that are new. */
  readonly bytesAdded: bigint;
}

/** The operation on a table. */
export type CommitAction =
  | 'append'
  | 'overwrite'
  | 'update'
  | 'delete'
  | 'merge'
  | 'schema'
  | 'backfill'
  | 'compact'
  | 'restore'
  | 'convert'
  | 'create'
  | 'commit'
  | 'declare'
  | 'register'
  | 'rename'
  | 'drop'
  | 'deregister'
  | 'create_tag'
  | 'update_tag'
  | 'delete_tag'
  | 'create_branch'
  | 'delete_branch'
  | 'delete_versions'
  | 'expire';

/** Storage of a table's rows: rules that read rows can only be judged `here`. */
type RowKeeper = 'here' | 'elsewhere';

/** A commit, before it takes effect. */
export interface CommitFacts {
  readonly table: ObjectPath;
  readonly operation: OperationName;
  readonly action: CommitAction;
  /** Further actions that it counts as: the manifest classifies a Lance commit. */
  readonly classes: ReadonlySet<Action>;
  readonly branch: string;
  readonly keeper: RowKeeper;
  /** The new version; null where none is made. */
  readonly change: VersionChange | null;
  /** Why the changes against the predecessor are unknown; the change is null then. */
  readonly unknown?: string;
  /** Rows that go without a new version. */
  readonly removal?: Pick<VersionChange, 'rowsBefore' | 'rowsRemoved'>;
  /** The path that the table gets. */
  readonly target?: ObjectPath;
  readonly tag?: string;
  /** Absolute path of the folder in which the table lies or is to lie. */
  readonly location?: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Keys of the request's context, in lower case; null if they are unknown. */
  readonly context: ReadonlyMap<string, string> | null;
}

/** Selects the rules of a commit. */
type Scope = Pick<CommitFacts, 'table' | 'operation' | 'classes'>;

/**
 * The rules of a commit: those that cover its table, and its operation or one of its classes.
 * @param unless A path whose rules were already judged.
 */
export function rulesOn(
  rules: readonly CommitRule[],
  scope: Scope,
  unless?: ObjectPath,
): readonly CommitRule[] {
  return rules.filter(
    (rule) =>
      rule.covers(scope.table) &&
      !(unless !== undefined && rule.covers(unless)) &&
      concerns(rule, scope),
  );
}

function concerns(
  { actions }: Pick<CommitRule, 'actions'>,
  { operation, classes }: Scope,
): boolean {
  if (actions === null || actions.has(operation)) return true;
  for (const action of classes) if (actions.has(action)) return true;
  return false;
}
