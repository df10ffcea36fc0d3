import { administrativeOperations } from '../../audit/record/administrative.ts';
import { decisions, type Decision } from '../../audit/record/record.ts';
import type { RequestFilter } from '../../audit/search/filter.ts';
import { parsePattern, patternMatches, parseObject } from '../../policy/lines/pattern.ts';
import type { AccessGroup } from '../../protocol/operations/operation.ts';
import {
  isOperationName,
  operationNames,
  operationsOf,
} from '../../protocol/operations/operations.ts';
import { principalName, windowOf, type PeriodFlags } from '../config/key-details.ts';
import { UsageError } from '../output/service-error.ts';

/** Flags of `audit search`, as strings. */
export interface FilterFlags extends PeriodFlags {
  readonly subject?: string;
  readonly object?: string;
  readonly operation?: string;
  readonly decision?: string;
  readonly status?: string;
  readonly column?: string;
  readonly text?: string;
}

/** @throws UsageError for a value that can mean nothing */
export function filterOf(flags: FilterFlags): RequestFilter {
  const { subject, object, operation, decision, status, column, text } = flags;
  if (text === '') throw new UsageError('--text is empty');
  return {
    ...windowOf(flags),
    ...(subject === undefined ? {} : { subject: principalName('user', subject) }),
    ...(object === undefined ? {} : { object: objectTest(object) }),
    ...(operation === undefined ? {} : { operations: operationSet(operation) }),
    ...(decision === undefined ? {} : { decision: decisionFrom(decision) }),
    ...(status === undefined ? {} : { status: statusTest(status) }),
    ...(column === undefined ? {} : { column }),
    ...(text === undefined ? {} : { text }),
  };
}

function objectTest(typed: string): (path: string) => boolean {
  const result = parsePattern(typed);
  if ('fault' in result) throw new UsageError(`--object: ${result.fault}`);
  const cache = new Map<string, boolean>();
  return (path) => {
    const before = cache.get(path);
    if (before !== undefined) return before;
    const object = parseObject(path);
    const matches = object !== undefined && patternMatches(result.pattern, object);
    if (cache.size < MAX_KNOWN) cache.set(path, matches);
    return matches;
  };
}

/** Number of objects whose verdict is cached. */
const MAX_KNOWN = 100_000;

const groups: readonly AccessGroup[] = [
  'list',
  'describe',
  'read',
  'append',
  'modify',
  'schema',
  'index',
  'commit',
  'tag',
  'branch',
  'create',
  'drop',
  'manage',
];

function operationSet(typed: string): ReadonlySet<string> {
  if (isOperationName(typed) || administrativeOperations.some((name) => name === typed)) {
    return new Set([typed]);
  }
  const group = groups.find((name) => name === typed);
  if (group !== undefined) return new Set(operationsOf(group));
  const names = [...operationNames, ...administrativeOperations];
  const meant = names.find((name) => name.toLowerCase() === typed.toLowerCase());
  const hint =
    meant === undefined ? `write an operation or one of ${groups.join(', ')}` : `write ${meant}`;
  throw new UsageError(`--operation is ${JSON.stringify(typed)}, which is no operation: ${hint}`);
}

function decisionFrom(typed: string): Decision {
  const found = decisions.find((decision) => decision === typed);
  if (found !== undefined) return found;
  throw new UsageError(
    `--decision is ${JSON.stringify(typed)}, but must be one of ${decisions.join(', ')}`,
  );
}

function statusTest(typed: string): (status: number) => boolean {
  if (/^[1-5]xx$/.test(typed)) return (status) => Math.floor(status / 100) === Number(typed[0]);
  if (/^[1-5]\d\d$/.test(typed)) return (status) => status === Number(typed);
  throw new UsageError(
    `--status is ${JSON.stringify(typed)}, but must be a status such as 403 or a class such as 4xx`,
  );
}
