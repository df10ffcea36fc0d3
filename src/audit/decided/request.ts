import type { LoggedRecord, Phase } from '../record/record.ts';

/** The fields of a record that determine how its request was decided. */
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

/** The inputs of the conditions of a policy. */
export interface ConditionInputs {
  readonly ip: string | null;
  readonly context: Readonly<Record<string, string>>;
  /** Of the record. */
  readonly time: string;
  /** From the request's arrival to that time. */
  readonly durationMicros: bigint;
}

/** A request of the log; its parts are read when they are asked for. */
export interface DecidedRequest {
  readonly phase: Phase;
  readonly decisionId: string;
  /** Of the record: RFC 3339 in UTC with microseconds. */
  readonly time: string;
  /** The same for all requests that have the same principal, ask for the same, and were decided in the same way. */
  readonly key: string;
  conditionInputs(): ConditionInputs;
  /** Cut after 256 characters. */
  userAgent(): string | null;
  record(): DecidedRecord;
}
