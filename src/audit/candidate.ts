import type { LoggedRecord, Phase } from './record.ts';

/** A record that is about a request that may be meant. */
export interface Candidate {
  readonly phase: Phase;
  readonly decisionId: string;
  /** When its request came, in microseconds since 1970. */
  readonly began: bigint;
  /** The record itself; to be asked for before the next candidates are. */
  load(): Promise<LoggedRecord>;
}
