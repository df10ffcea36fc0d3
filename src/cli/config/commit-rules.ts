import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseCommits, type WrittenRule } from '../../policy/settings/commits.ts';
import type { RulesCheck } from '../../policy/rules-check.ts';
import { parsePattern } from '../../policy/lines/pattern.ts';
import { formatFinding, PolicyError, type PolicyFinding } from '../../policy/lines/policy-error.ts';
import { rightsOfAction } from '../../policy/lines/rights.ts';
import { remoteFindings, type ServedNamespaces } from '../../policy/settings/remote-rules.ts';
import { COMMITS_FILE } from '../../rules/commit-rule.ts';
import type { Environment } from './config-environment.ts';
import type { Config } from './config-table.ts';

/** Faults of commit rules in a gateway of this configuration and environment. */
export function rulesCheck(config: Config, environment: Environment): RulesCheck {
  const backends = servedBy(config.backends);
  return (rules) => [
    ...remoteFindings(rules, backends),
    ...rules.flatMap((rule) => secretFindings(rule, environment)),
  ];
}

function secretFindings(
  { name, line, webhook }: WrittenRule,
  environment: Environment,
): readonly PolicyFinding[] {
  if (webhook === null || (environment[webhook.secretEnv] ?? '') !== '') return [];
  const text = `the webhook of ${name} signs with ${webhook.secretEnv}, which is not set`;
  return [{ file: COMMITS_FILE, line, text }];
}

/** Findings of `config check` on commit rules: why they are not in force, and what they cannot judge. */
interface RulesReport {
  readonly findings: readonly string[];
  readonly notes: readonly string[];
}

/** Looks at `commits.yaml`, where there is one; the rest of the policy is for `policy check`. */
export async function rulesReport(config: Config, environment: Environment): Promise<RulesReport> {
  const file = join(resolve(config.policies), COMMITS_FILE);
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return { findings: [], notes: [] };
  try {
    const rules = parseCommits(text);
    const findings = rulesCheck(config, environment)(rules).map(formatFinding);
    return { findings, notes: unjudgedNotes(rules) };
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    return { findings: error.findings, notes: [] };
  }
}

/** Rows of Lance clients are not here: what of the rules their commits are refused for. */
function unjudgedNotes(rules: readonly WrittenRule[]): readonly string[] {
  return rules.flatMap(({ name, line, require, enforced }) => {
    const demands = (['check', 'unique'] as const).filter((key) => require[key] !== undefined);
    if (demands.length === 0) return [];
    const outcome = enforced ? 'are refused' : 'are noted';
    return [
      `${COMMITS_FILE}:${line}: ${demands.join(' and ')} of ${name} cannot be judged of tables that Lance clients write: commits that bring rows to them ${outcome}`,
    ];
  });
}

function servedBy(backends: unknown): readonly ServedNamespaces[] {
  if (!Array.isArray(backends)) return [];
  return backends.flatMap((backend: unknown) => {
    if (typeof backend !== 'object' || backend === null) return [];
    const name = 'name' in backend ? String(backend.name) : '';
    const remote = 'type' in backend && backend.type !== 'embedded';
    const namespaces: unknown = 'namespaces' in backend ? backend.namespaces : [];
    const trust: unknown = 'trust' in backend ? backend.trust : [];
    return [{ name, remote, patterns: patternsOf(namespaces), trust: actionsOf(trust) }];
  });
}

function actionsOf(trust: unknown): ServedNamespaces['trust'] {
  if (!Array.isArray(trust)) return new Set();
  return new Set(trust.flatMap((action: unknown) => rightsOfAction(String(action)) ?? []));
}

function patternsOf(namespaces: unknown): ServedNamespaces['patterns'] {
  if (!Array.isArray(namespaces)) return [];
  return namespaces.flatMap((text: unknown) => {
    const result = parsePattern(String(text));
    return 'pattern' in result ? [result.pattern] : [];
  });
}
