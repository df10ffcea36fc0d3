/** Summary of a commit for the audit record and for commit rules. Rows are counts; versions never lose precision. */
export interface CommitSummary {
  /** Kind of change, named by its effect on rows: append, overwrite, create, drop … */
  readonly kind: string;
  readonly baseVersion: bigint | null;
  readonly version: bigint | null;
  readonly rowsAdded: bigint;
  readonly rowsRemoved: bigint;
  readonly schemaChanged: boolean;
  /** Names of the commit rules that judged it. */
  readonly rules: readonly string[];
  /** Id of the table; null where there is none, or more than one. */
  readonly table?: string | null;
  /** Rows that stay and have other values. Absent in records of versions that did not count them, as all below. */
  readonly rowsChanged?: bigint | null;
  /** Columns whose definition changed, or whose values did in rows that stay. */
  readonly columns?: readonly string[];
  /** The predicate and the expressions of the request; null if there are none. */
  readonly statement?: string | null;
}
