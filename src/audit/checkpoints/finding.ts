/** A manipulation of a chain, or the reason why the chain cannot be verified. */
export type Tampering =
  | 'edited'
  | 'removed'
  | 'reordered'
  | 'cut short'
  | 'unsigned'
  | 'unknown key'
  | 'not asked';

/** The first fault in the chain of an instance. */
export interface AuditFinding {
  readonly kind: Tampering;
  readonly instance: string;
  /** File with the fault; null where no single file has it. */
  readonly file: string | null;
  /** Line of the file, from 1. */
  readonly line: number | null;
  /** Sequence number of the first bad record. */
  readonly sequence: bigint;
  /** One sentence. */
  readonly text: string;
}
