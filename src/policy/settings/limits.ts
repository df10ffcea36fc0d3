import { operationNames, operations, namesObject } from '../../protocol/operations/operations.ts';
import type { OperationName } from '../../protocol/operations/operation-name.ts';
import { costOf, LIMITS_FILE, type Limit } from './limit.ts';
import { LimitFields } from './limit-fields.ts';
import { formatPattern, patternMatches, subtreeOf, type Pattern } from '../lines/pattern.ts';
import { PolicyError } from '../lines/policy-error.ts';
import { rightsOfAction, rightsOf } from '../lines/rights.ts';
import { RightSet } from '../lines/right-set.ts';
import { YamlReader, type YamlMapping } from './yaml-reader.ts';

/** The keys of a limit, in the order in which documents list them. */
export const limitKeys: readonly string[] = [
  'name',
  'subjects',
  'operations',
  'objects',
  'per',
  'network',
  'rate',
  'burst',
  'concurrency',
  'cost',
  'budget',
  'on_store_failure',
];

/** Reads the text of a `limits.yaml`. @throws PolicyError with everything that is wrong with it. */
export function parseLimits(text: string): readonly Limit[] {
  const reader = new YamlReader(LIMITS_FILE, text);
  const limits = reader.list('limits', limitKeys).map((map) => readLimit(reader, map));
  const seen = new Map<string, number>();
  for (const { name, line } of limits) {
    const first = seen.get(name);
    if (first !== undefined && name !== '') {
      reader.fault(line, `the name ${name} is already that of the limit in line ${first}`);
    }
    seen.set(name, line);
  }
  if (reader.findings.length > 0) {
    throw new PolicyError(reader.findings.sort((a, b) => (a.line ?? 0) - (b.line ?? 0)));
  }
  return limits;
}

function readLimit(reader: YamlReader, map: YamlMapping): Limit {
  const fields = new LimitFields(reader, map);
  const before = reader.findings.length;
  const named = fields.operations();
  const patterns = fields.objects();
  const costs = fields.cost();
  const per = fields.per();
  const limit: Limit = {
    line: map.line,
    name: fields.name(),
    subjects: fields.subjects(),
    rights: (named ?? ['*']).reduce(
      (all, name) => all.union(rightsOf(name) ?? RightSet.none),
      RightSet.none,
    ),
    objects: patterns ?? [subtreeOf([])],
    per,
    network: fields.network(per),
    rate: fields.rate(),
    concurrency: fields.concurrency(),
    costs,
    budget: fields.budget(),
    onStoreFailure: fields.onStoreFailure(),
  };
  if (reader.findings.length === before) requireEffective(fields, limit, named, patterns);
  return limit;
}

/** Refuses a limit that could never take effect, or would block everything. */
function requireEffective(
  fields: LimitFields,
  limit: Limit,
  named: readonly string[] | null,
  patterns: readonly Pattern[] | null,
): void {
  if (limit.rate === null && limit.concurrency === null && limit.budget === null) {
    return fields.fault('name', `the limit ${limit.name} has no rate, concurrency or budget`);
  }
  const covered = operationNames.filter((name) => rightsOf(name).within(limit.rights));
  checkNamed(fields, limit, named);
  for (const pattern of patterns ?? []) {
    if (covered.some((name) => canMatch(name, pattern))) continue;
    fields.fault('objects', `none of the operations can be about ${formatPattern(pattern)}`);
  }
  checkCosts(fields, limit, covered);
}

function checkNamed(fields: LimitFields, limit: Limit, named: readonly string[] | null): void {
  for (const name of named ?? []) {
    const parts = rightsOfAction(name)!.filter((part): part is OperationName => part in operations);
    if (parts.some((part) => limit.objects.some((pattern) => canMatch(part, pattern)))) continue;
    fields.fault(
      'operations',
      parts.length === 0
        ? `${name} has no operation: the limit could never act`
        : `${name} can be about none of the objects: its route names another, or none`,
    );
  }
}

function checkCosts(fields: LimitFields, limit: Limit, covered: readonly OperationName[]): void {
  const { rate, costs } = limit;
  for (const action of costs.keys()) {
    if (
      action === '*' ||
      rightsOfAction(action)!.some((part) => covered.some((name) => name === part))
    )
      continue;
    fields.fault('cost', `cost names ${action}, which the limit is not about`);
  }
  if (rate === null) return;
  if (covered.length > 0 && covered.every((name) => costOf(limit, name) === 0)) {
    fields.fault('cost', 'everything costs 0: the rate could never act');
  }
  const dear = covered.find((name) => costOf(limit, name) > rate.burst);
  if (dear === undefined) return;
  fields.fault(
    'cost',
    `${dear} costs ${costOf(limit, dear)}, more than the burst of ${rate.burst}: it could never pass`,
  );
}

/** Whether a route of the operation can name something that the pattern is about. */
function canMatch(name: OperationName, pattern: Pattern): boolean {
  const operation = operations[name];
  if (!namesObject(operation)) return patternMatches(pattern, []);
  if (operation.object === 'namespace') return true;
  return pattern.below || pattern.segments.length > 0;
}
