import { COMMITS_FILE, type RequirementName } from '../rules/commit-rule.ts';
import { requirementNames } from '../rules/requirements.ts';
import type { WrittenRule } from './commits.ts';
import { formatPattern, intersect, type Pattern } from './pattern.ts';
import type { Finding } from './policy-error.ts';

/** What is known of a commit to a remote table: its route and its headers. */
const judged: ReadonlySet<RequirementName> = new Set<RequirementName>([
  'max_bytes',
  'no_drop',
  'context',
  'freeze',
]);

/** Where the tables of a backend are; of several backends the first that matches serves. */
export interface ServedNamespaces {
  readonly name: string;
  readonly remote: boolean;
  readonly patterns: readonly Pattern[];
}

/** What is wrong with rules that could meet a remote table and cannot be judged there. */
export function remoteFindings(
  rules: readonly WrittenRule[],
  backends: readonly ServedNamespaces[],
): readonly Finding[] {
  return rules.flatMap((rule) => {
    const unjudged = requirementNames.filter(
      (name) => rule.require[name] !== undefined && !judged.has(name),
    );
    const named = [...unjudged, ...(rule.webhook === null ? [] : ['webhook'])];
    const met = named.length === 0 ? undefined : firstRemote(rule.patterns, backends);
    if (met === undefined) return [];
    const text = `${rule.name} demands ${named.join(', ')} of ${met.pattern}, which can be a table of the remote backend ${met.name}, where that cannot be judged`;
    return [{ file: COMMITS_FILE, line: rule.line, text }];
  });
}

function firstRemote(
  patterns: readonly Pattern[],
  backends: readonly ServedNamespaces[],
): { readonly name: string; readonly pattern: string } | undefined {
  for (const pattern of patterns) {
    for (const { name, remote, patterns: served } of backends) {
      const common = served
        .map((one) => intersect(pattern, one))
        .filter((one) => one !== undefined);
      if (remote && common.length > 0) return { name, pattern: formatPattern(pattern) };
      // All of it is served before any other backend is asked.
      if (common.some((one) => formatPattern(one) === formatPattern(pattern))) break;
    }
  }
  return undefined;
}
