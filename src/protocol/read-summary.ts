/** What a request read of a table, for the audit record. */
export interface ReadSummary {
  /** Columns whose values the answer has or depends on, each once. */
  readonly columns: readonly string[];
  /** Rows of the answer; none for a count and a plan. */
  readonly rows: bigint;
  /** The version that was read. */
  readonly version: bigint;
  /** SHA-256 of the normalised filter, in hexadecimal; null if there is none. */
  readonly filter: string | null;
}

/** The same while the answer is sent: its rows are those that were sent so far. */
export interface PendingRead extends Omit<ReadSummary, 'rows'> {
  readonly rows: () => bigint;
}
