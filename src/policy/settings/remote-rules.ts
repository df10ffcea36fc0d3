import { COMMITS_FILE, type RequirementName } from '../../rules/commit-rule.ts';
import { requirementNames } from '../../rules/requirements.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import type { OperationName } from '../../protocol/operations/operation-name.ts';
import type { WrittenRule } from './commits.ts';
import { formatPattern, intersect, type Pattern } from '../lines/pattern.ts';
import type { PolicyFinding } from '../lines/policy-error.ts';

/** The known facts of a commit to a remote table: its route and headers. */
const judged: ReadonlySet<RequirementName> = new Set<RequirementName>([
  'max_bytes',
  'no_drop',
  'context',
  'freeze',
]);

/** Tables of a backend; the first backend that matches serves. */
export interface ServedNamespaces {
  readonly name: string;
  readonly remote: boolean;
  readonly patterns: readonly Pattern[];
  /** Trusted operations, with any body. */
  readonly trust: ReadonlySet<Action>;
}

/** Requirements that the body of an operation can violate while the route does not show it; null for all. */
const bodies: Partial<Record<OperationName, readonly RequirementName[] | null>> = {
  RenameTable: ['no_drop'],
  RegisterTable: ['no_drop'],
  DropNamespace: null,
};

/** Faults of rules that could apply to a remote table and cannot be checked there. */
export function remoteFindings(
  rules: readonly WrittenRule[],
  backends: readonly ServedNamespaces[],
): readonly PolicyFinding[] {
  return rules.flatMap((rule) => {
    const unjudged = requirementNames.filter(
      (name) => rule.require[name] !== undefined && !judged.has(name),
    );
    const named = [...unjudged, ...(rule.webhook === null ? [] : ['webhook'])];
    const met = remotesOf(rule.patterns, backends);
    const [first] = met;
    if (first === undefined) return [];
    if (named.length === 0) return met.flatMap((one) => trustFindings(rule, one)).slice(0, 1);
    const text = `${rule.name} demands ${named.join(', ')} of ${first.pattern}, which can be a table of the remote backend ${first.name}, where that cannot be judged`;
    return [{ file: COMMITS_FILE, line: rule.line, text }];
  });
}

/** Operations of such a backend on tables that only request bodies name. */
function trustFindings(rule: WrittenRule, { name, pattern, trust }: Met): readonly PolicyFinding[] {
  const unjudged = Object.entries(bodies).filter(
    ([operation, demands]) =>
      trust.has(operation as OperationName) &&
      (demands === null || demands.some((demand) => rule.require[demand] !== undefined)),
  );
  if (unjudged.length === 0) return [];
  const operations = unjudged.map(([operation]) => operation).join(', ');
  const text = `${rule.name} is about ${pattern}, which can be a table of the remote backend ${name}: that is trusted with ${operations}, of which only it reads what the body does`;
  return [{ file: COMMITS_FILE, line: rule.line, text }];
}

interface Met extends Pick<ServedNamespaces, 'name' | 'trust'> {
  readonly pattern: string;
}

function remotesOf(
  patterns: readonly Pattern[],
  backends: readonly ServedNamespaces[],
): readonly Met[] {
  const met: Met[] = [];
  for (const pattern of patterns) {
    for (const { name, remote, patterns: served, trust } of backends) {
      const common = served
        .map((one) => intersect(pattern, one))
        .filter((one) => one !== undefined);
      if (remote && common.length > 0) met.push({ name, trust, pattern: formatPattern(pattern) });
      // This backend takes the whole pattern before any later one.
      if (common.some((one) => formatPattern(one) === formatPattern(pattern))) break;
    }
  }
  return met;
}
