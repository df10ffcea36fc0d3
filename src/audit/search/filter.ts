import type { Decision, LoggedRecord } from '../record/record.ts';

/** What reviewers think of a request: they have seen it, flagged it, or neither. */
export const reviewStates = ['seen', 'flagged', 'unreviewed'] as const;

export type ReviewState = (typeof reviewStates)[number];

/** Selects requests of the log. Absent criteria match everything. */
export interface RequestFilter {
  /** Arrival at this time or later, in microseconds since 1970. */
  readonly since?: bigint;
  /** Arrival before this time. */
  readonly until?: bigint;
  /** `user:<name>`. */
  readonly subject?: string;
  /** Test of canonical paths, which one of the request's objects must pass. */
  readonly object?: (path: string) => boolean;
  readonly operations?: ReadonlySet<string>;
  /** Name of the backend that answered, or would have. */
  readonly backend?: string;
  readonly decision?: Decision;
  /** Test of the answer's status. */
  readonly status?: (status: number) => boolean;
  /** A column that the request read. */
  readonly column?: string;
  /** Substring of a text of the record; case-sensitive. */
  readonly text?: string;
  /** What reviewers think of the request; `withMarks` finds the requests. */
  readonly review?: ReviewState;
  /** Test of decision ids, from `withMarks`. */
  readonly reviewed?: (decisionId: string) => boolean;
  /** Test of the restrictions whose canaries the request named, with blanks between them. */
  readonly canary?: (restrictions: string) => boolean;
}

/** Whether an arrival time is in the filter's window. */
export function isInWindow({ since, until }: RequestFilter, began: bigint): boolean {
  return (since === undefined || began >= since) && (until === undefined || began < until);
}

/** Whether a record matches subject, operation, backend and object, which are the same in attempt and outcome. */
export function isAbout(filter: RequestFilter, record: LoggedRecord): boolean {
  const { subject, operations, object, backend } = filter;
  if (subject !== undefined && record.subject !== subject) return false;
  if (backend !== undefined && record.backend !== backend) return false;
  if (operations !== undefined && !has(operations, record.operation)) return false;
  if (object === undefined) return true;
  const own = record.object !== null && object(record.object);
  return own || record.objects.some(object);
}

/** Whether a record matches the other criteria of a filter. */
export function matches(filter: RequestFilter, record: LoggedRecord): boolean {
  const { decision, status, column, text, review, reviewed, canary } = filter;
  if (decision !== undefined && record.decision !== decision) return false;
  if (status !== undefined && (record.status === null || !status(record.status))) return false;
  if (column !== undefined && record.read?.columns.includes(column) !== true) return false;
  if (canary !== undefined && (record.canary === null || !canary(record.canary))) return false;
  // A request that has just ended has no marks.
  const isMeant = reviewed ?? (() => review === undefined || review === 'unreviewed');
  if (!isMeant(record.decision_id)) return false;
  return text === undefined || contains(record, text);
}

/** Whether a request without an outcome can match: it has no status, and it is not known what it read or asked for. */
export function findsAttempts({ status, column, canary }: RequestFilter): boolean {
  return status === undefined && column === undefined && canary === undefined;
}

/** Whether a text of the record contains a substring; the time is not searched. */
function contains({ time: _time, ...record }: LoggedRecord, text: string): boolean {
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
