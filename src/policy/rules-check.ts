import type { PolicySnapshot } from './decide/snapshot.ts';
import { PolicyError, type PolicyFinding } from './lines/policy-error.ts';
import type { WrittenRule } from './settings/commits.ts';

/** Checks commit rules where they will be in force: in a gateway with its backends and secrets. */
export type RulesCheck = (rules: readonly WrittenRule[]) => readonly PolicyFinding[];

/** @throws PolicyError with the findings of the check. */
export function refuseRules({ commits }: PolicySnapshot, check: RulesCheck): void {
  const findings = check(commits.rules);
  if (findings.length > 0) throw new PolicyError(findings);
}
