/** What a commit did, for the audit record and for commit rules. Rows are counts; versions never lose precision. */
export interface CommitSummary {
  /** What kind of change it is, named by what it did to the rows: append, overwrite, create, drop … */
  readonly kind: string;
  readonly baseVersion: bigint | null;
  readonly version: bigint | null;
  readonly rowsAdded: bigint;
  readonly rowsRemoved: bigint;
  readonly schemaChanged: boolean;
  /** Names of the commit rules that judged it. */
  readonly rules: readonly string[];
}
