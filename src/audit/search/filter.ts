import type { Decision, LoggedRecord } from '../record/record.ts';

/** Selects requests of the log. Absent criteria match everything. */
export interface RequestFilter {
  /** Requests that came at this moment or later, in microseconds since 1970. */
  readonly since?: bigint;
  /** Requests that came before this moment. */
  readonly until?: bigint;
  /** `user:<name>`. */
  readonly subject?: string;
  /** Judges the canonical path of an object; one of the request's objects is enough. */
  readonly object?: (path: string) => boolean;
  readonly operations?: ReadonlySet<string>;
  readonly decision?: Decision;
  /** Judges the status of the answer. */
  readonly status?: (status: number) => boolean;
  /** Stands somewhere in a text of the record, in the same letter case. */
  readonly text?: string;
}

/** Whether a request that came then is meant. */
export function isInWindow({ since, until }: RequestFilter, began: bigint): boolean {
  return (since === undefined || began >= since) && (until === undefined || began < until);
}

/** Whether a record is of a request of that subject, operation and object: attempt and outcome agree on these. */
export function isAbout(filter: RequestFilter, record: LoggedRecord): boolean {
  const { subject, operations, object } = filter;
  if (subject !== undefined && record.subject !== subject) return false;
  if (operations !== undefined && !has(operations, record.operation)) return false;
  if (object === undefined) return true;
  const own = record.object !== null && object(record.object);
  return own || record.objects.some(object);
}

/** Whether a record meets the other criteria of a filter. */
export function matches(filter: RequestFilter, record: LoggedRecord): boolean {
  const { decision, status, text } = filter;
  if (decision !== undefined && record.decision !== decision) return false;
  if (status !== undefined && (record.status === null || !status(record.status))) return false;
  return text === undefined || contains(record, text);
}

/** Whether an attempt whose outcome is not known can be meant: it has no status. */
export function findsAttempts({ status }: RequestFilter): boolean {
  return status === undefined;
}

/** Whether a text of the record has this one in it; times are no texts. */
export function contains({ time: _time, ...record }: LoggedRecord, text: string): boolean {
  return Object.values(record).some((value) => holds(value, text));
}

function holds(value: unknown, text: string): boolean {
  if (typeof value === 'string') return value.includes(text);
  if (Array.isArray(value)) return value.some((item) => holds(item, text));
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(
    ([key, item]) => holds(item, text) || (typeof item === 'string' && key.includes(text)),
  );
}

function has(values: ReadonlySet<string>, value: string | null): boolean {
  return value !== null && values.has(value);
}
