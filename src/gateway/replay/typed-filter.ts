import { administrativeOperations } from '../../audit/record/administrative.ts';
import { decisions } from '../../audit/record/record.ts';
import { reviewStates, type RequestFilter } from '../../audit/search/filter.ts';
import { nearestName } from '../../policy/nearest.ts';
import { parseObject, parsePattern, patternMatches } from '../../policy/lines/pattern.ts';
import { accessGroups } from '../../policy/lines/rights.ts';
import { typedName, type Typed } from '../../policy/lines/typed-name.ts';
import {
  isOperationName,
  operationNames,
  operationsOf,
} from '../../protocol/operations/operations.ts';

/** Criteria of a filter of requests, besides its period. */
export const criteria = [
  'subject',
  'object',
  'operation',
  'backend',
  'decision',
  'status',
  'column',
  'text',
  'review',
  'canary',
] as const;

type Criterion = (typeof criteria)[number];

/** A filter as it is typed, in flags or in an address. */
export type TypedFilter = Readonly<Partial<Record<Criterion, string>>>;

/** A criterion that can mean nothing; the fault is the rest of a sentence that begins with its name. */
interface FilterFault {
  readonly name: Criterion;
  readonly fault: string;
}

/** The filter that is meant, without its period. */
export function typedFilter(typed: TypedFilter): { readonly filter: RequestFilter } | FilterFault {
  let filter: RequestFilter = {};
  for (const name of criteria) {
    const text = typed[name];
    if (text === undefined) continue;
    const part = readers[name](text);
    if ('fault' in part) return { name, fault: part.fault };
    filter = { ...filter, ...part.value };
  }
  return { filter };
}

const readers: Readonly<Record<Criterion, (typed: string) => Typed<RequestFilter>>> = {
  subject: subjectOf,
  object: objectTest,
  operation: operationSet,
  backend: backendOf,
  decision: decisionOf,
  status: statusTest,
  column: (column) => ({ value: { column } }),
  review: reviewOf,
  canary: canaryTest,
  text: (text) => (text === '' ? { fault: 'is empty' } : { value: { text } }),
};

/** Parts of the service are subjects of the log as well. */
function subjectOf(typed: string): Typed<RequestFilter> {
  if (/^system:./.test(typed)) return { value: { subject: typed } };
  const name = typedName('user', typed);
  if ('fault' in name) return { fault: `is ${JSON.stringify(typed)}: ${name.fault}` };
  return { value: { subject: name.value } };
}

/** Number of objects whose verdict is cached. */
const MOST_OBJECTS = 100_000;

function objectTest(typed: string): Typed<RequestFilter> {
  const result = parsePattern(typed);
  if ('fault' in result) return { fault: `is ${JSON.stringify(typed)}: ${result.fault}` };
  const cached = new Map<string, boolean>();
  const object = (path: string): boolean => {
    const before = cached.get(path);
    if (before !== undefined) return before;
    const parsed = parseObject(path);
    const matches = parsed !== undefined && patternMatches(result.pattern, parsed);
    if (cached.size < MOST_OBJECTS) cached.set(path, matches);
    return matches;
  };
  return { value: { object } };
}

function operationSet(typed: string): Typed<RequestFilter> {
  const isKnown = isOperationName(typed) || administrativeOperations.some((name) => name === typed);
  if (isKnown) return { value: { operations: new Set([typed]) } };
  const group = accessGroups.find((name) => name === typed);
  if (group !== undefined) return { value: { operations: new Set(operationsOf(group)) } };
  const names = [...operationNames, ...administrativeOperations, ...accessGroups];
  const meant = nearestName(typed, names);
  const hint = meant ?? `an operation such as QueryTable or one of ${accessGroups.join(', ')}`;
  return { fault: `is ${JSON.stringify(typed)}, which is no operation: write ${hint}` };
}

/** Whether there is such a backend is not known here: the log may be older than the configuration. */
function backendOf(typed: string): Typed<RequestFilter> {
  if (/^[\w.-]+$/.test(typed)) return { value: { backend: typed } };
  return {
    fault: `is ${JSON.stringify(typed)}, but must be the name of a backend such as embedded`,
  };
}

function decisionOf(typed: string): Typed<RequestFilter> {
  const decision = decisions.find((each) => each === typed);
  if (decision !== undefined) return { value: { decision } };
  return { fault: `is ${JSON.stringify(typed)}, but must be one of ${decisions.join(', ')}` };
}

function reviewOf(typed: string): Typed<RequestFilter> {
  const review = reviewStates.find((each) => each === typed);
  if (review !== undefined) return { value: { review } };
  return { fault: `is ${JSON.stringify(typed)}, but must be one of ${reviewStates.join(', ')}` };
}

/** The name of a restriction, or `any`. */
function canaryTest(typed: string): Typed<RequestFilter> {
  if (typed === '') return { fault: 'is empty: write the name of a restriction, or any' };
  if (typed === 'any') return { value: { canary: () => true } };
  return { value: { canary: (restrictions) => restrictions.split(' ').includes(typed) } };
}

function statusTest(typed: string): Typed<RequestFilter> {
  const first = Number(typed[0]);
  if (/^[1-5]xx$/.test(typed)) {
    return { value: { status: (status) => Math.floor(status / 100) === first } };
  }
  if (/^[1-5]\d\d$/.test(typed)) {
    return { value: { status: (status) => status === Number(typed) } };
  }
  return {
    fault: `is ${JSON.stringify(typed)}, but must be a status such as 403 or a class such as 4xx`,
  };
}
