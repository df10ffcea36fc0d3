import { administrativeOperations } from '../../audit/record/administrative.ts';
import { decisions } from '../../audit/record/record.ts';
import type { RequestFilter } from '../../audit/search/filter.ts';
import { parseObject, parsePattern, patternMatches } from '../../policy/lines/pattern.ts';
import { accessGroups } from '../../policy/lines/rights.ts';
import { CatalogError } from '../../protocol/errors.ts';
import {
  isOperationName,
  operationNames,
  operationsOf,
} from '../../protocol/operations/operations.ts';
import { parseDuration } from '../../protocol/units.ts';

/** Parameters of a search in the address of a page, as they are typed. */
export const filterParameters = [
  'since',
  'until',
  'subject',
  'object',
  'operation',
  'decision',
  'status',
  'column',
  'text',
] as const;

/** A filter as texts, which a thread can be given. Times are RFC 3339. */
export type FilterText = Readonly<Partial<Record<(typeof filterParameters)[number], string>>>;

/** The filter of a query. Durations back become times. @throws CatalogError InvalidInput */
export function filterTextOf(query: URLSearchParams, now: number): FilterText {
  const given = filterParameters.flatMap((name) => {
    const all = query.getAll(name);
    if (all.length > 1) throw invalid(`the parameter ${name} may be given once`);
    const [value = ''] = all;
    return value.trim() === '' ? [] : [[name, value.trim()] as const];
  });
  const text: Record<string, string> = Object.fromEntries(given);
  for (const name of ['since', 'until'] as const) {
    const typed = text[name];
    if (typed !== undefined) text[name] = new Date(momentOf(name, typed, now)).toISOString();
  }
  requestFilterOf(text);
  return text;
}

/** @throws CatalogError InvalidInput for a value that can mean nothing */
export function requestFilterOf(given: FilterText): RequestFilter {
  const { since, until, subject, object, operation, decision, status, column, text } = given;
  if (since !== undefined && until !== undefined && since >= until) {
    throw invalid(`since is ${since}, which is not before until, ${until}`);
  }
  return {
    ...(since === undefined ? {} : { since: microsOfTime(since) }),
    ...(until === undefined ? {} : { until: microsOfTime(until) }),
    ...(subject === undefined ? {} : { subject: subjectOf(subject) }),
    ...(object === undefined ? {} : { object: objectTest(object) }),
    ...(operation === undefined ? {} : { operations: operationSet(operation) }),
    ...(decision === undefined ? {} : { decision: decisionOf(decision) }),
    ...(status === undefined ? {} : { status: statusTest(status) }),
    ...(column === undefined ? {} : { column }),
    ...(text === undefined ? {} : { text }),
  };
}

function microsOfTime(time: string): bigint {
  return BigInt(Date.parse(time)) * 1000n;
}

const RFC_3339 = /^\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:\d\d))?$/;

/** Milliseconds since 1970. */
function momentOf(name: string, typed: string, now: number): number {
  const back = parseDuration(typed);
  if (back !== undefined) return now - back;
  const millis = RFC_3339.test(typed) ? Date.parse(typed) : Number.NaN;
  if (!Number.isNaN(millis)) return millis;
  throw invalid(
    `${name} is ${JSON.stringify(typed)}, but must be a time such as 2026-01-31T23:59:59Z, a day such as 2026-01-31, or a duration back such as 24h`,
  );
}

function subjectOf(typed: string): string {
  return /^(user|system):/.test(typed) ? typed : `user:${typed}`;
}

/** Number of objects whose verdict is cached. */
const MOST_OBJECTS = 100_000;

function objectTest(typed: string): (path: string) => boolean {
  const result = parsePattern(typed);
  if ('fault' in result) throw invalid(`object: ${result.fault}`);
  const cached = new Map<string, boolean>();
  return (path) => {
    const before = cached.get(path);
    if (before !== undefined) return before;
    const object = parseObject(path);
    const matches = object !== undefined && patternMatches(result.pattern, object);
    if (cached.size < MOST_OBJECTS) cached.set(path, matches);
    return matches;
  };
}

function operationSet(typed: string): ReadonlySet<string> {
  const isKnown = isOperationName(typed) || administrativeOperations.some((name) => name === typed);
  if (isKnown) return new Set([typed]);
  const group = accessGroups.find((name) => name === typed);
  if (group !== undefined) return new Set(operationsOf(group));
  const names = [...operationNames, ...administrativeOperations];
  const meant = names.find((name) => name.toLowerCase() === typed.toLowerCase());
  throw invalid(
    `operation is ${JSON.stringify(typed)}, which is no operation: write ${meant ?? 'a name such as QueryTable, or a group such as read'}`,
  );
}

function decisionOf(typed: string): NonNullable<RequestFilter['decision']> {
  const found = decisions.find((decision) => decision === typed);
  if (found !== undefined) return found;
  throw invalid(`decision is ${JSON.stringify(typed)}, but must be one of ${decisions.join(', ')}`);
}

function statusTest(typed: string): (status: number) => boolean {
  if (/^[1-5]xx$/.test(typed)) return (status) => Math.floor(status / 100) === Number(typed[0]);
  if (/^[1-5]\d\d$/.test(typed)) return (status) => status === Number(typed);
  throw invalid(
    `status is ${JSON.stringify(typed)}, but must be a status such as 403 or a class such as 4xx`,
  );
}

function invalid(sentence: string): CatalogError {
  return new CatalogError('InvalidInput', sentence);
}
