import type { LoggedRecord, Phase } from '../record/record.ts';

/** Fields of a record that determine the decision. */
export type DecidedRecord = Pick<
  LoggedRecord,
  | 'phase'
  | 'time'
  | 'duration_us'
  | 'decision_id'
  | 'principal'
  | 'credential'
  | 'source_ip'
  | 'operation'
  | 'object'
  | 'mode'
  | 'branch'
  | 'backend'
  | 'decision'
  | 'rule'
  | 'policy_digest'
  | 'rights'
  | 'context'
>;

/** Inputs of policy conditions. */
export interface ConditionInputs {
  readonly ip: string | null;
  readonly context: Readonly<Record<string, string>>;
  /** Time of the record. */
  readonly time: string;
  /** Time from the request's arrival to the record. */
  readonly durationMicros: bigint;
}

/** A request of the log, whose fields are read on demand. */
export interface DecidedRequest {
  readonly phase: Phase;
  readonly decisionId: string;
  /** Time of the record: RFC 3339 in UTC with microseconds. */
  readonly time: string;
  /** Equal for requests with the same principal, request and decision. */
  readonly key: string;
  conditionInputs(): ConditionInputs;
  /** Truncated to 256 characters. */
  userAgent(): string | null;
  /** Columns that the answer has or depends on; null for a request that read no table, or whose record does not say. */
  readColumns(): readonly string[] | null;
  record(): DecidedRecord;
}
