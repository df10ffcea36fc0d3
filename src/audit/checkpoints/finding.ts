/** A manipulation of a chain, or the reason why it cannot be verified. */
export type Tampering =
  | 'edited'
  | 'removed'
  | 'reordered'
  | 'cut short'
  | 'unsigned'
  | 'unknown key'
  | 'not asked';

/** The first thing that is wrong with the chain of an instance. */
export interface AuditFinding {
  readonly kind: Tampering;
  readonly instance: string;
  /** The file, where one is to blame. */
  readonly file: string | null;
  /** From 1, within the file. */
  readonly line: number | null;
  /** Number of the first bad record in the chain. */
  readonly sequence: bigint;
  /** One sentence. */
  readonly text: string;
}
