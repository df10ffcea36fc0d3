/** What a merge does with the rows that are sent and with those that are there. */
export interface MergeRequest {
  /** The columns, or fields inside them, that rows are matched on. */
  readonly on: readonly string[];
  /** Whether a row that is there takes the values of the row sent that matches it. */
  readonly update: boolean;
  /** What must be true of both, as `source.a < target.b`. */
  readonly updateIf: string | null;
  /** Whether a row sent that matches none is inserted. */
  readonly insert: boolean;
  /** Whether a row that is there and that none sent matches is deleted. */
  readonly remove: boolean;
  /** What must be true of such a row. */
  readonly removeIf: string | null;
  /** Whether an index may find the rows that match; every row is read otherwise. */
  readonly useIndex: boolean;
  /** Throws when the time that the merge may take is over. */
  readonly checkTime: () => void;
}
