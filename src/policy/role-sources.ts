import type { Principal } from '../protocol/principal.ts';
import { ruleName, type RoleLine } from './lines/policy-line.ts';

/** A role or group that a principal has, and everything that gives it. */
export interface RoleSource {
  readonly name: string;
  /** `key ID`, `the token`, or a line of the policy with the member that it names. */
  readonly from: readonly string[];
}

/** A source of roles and groups of a principal's credential. */
interface CredentialNames {
  readonly roles: string;
  readonly groups: string;
}

/** Every role and group of a principal, each with its source; those of the credential first. */
export function roleSources(
  { subject, roles, groups }: Principal,
  lines: readonly RoleLine[],
  credential: CredentialNames,
): readonly RoleSource[] {
  const found = new Map<string, string[]>();
  for (const role of roles) found.set(role, [credential.roles]);
  for (const group of groups) found.set(group, [credential.groups]);
  const given = new Map<string, RoleLine[]>();
  for (const line of lines) given.set(line.member, [...(given.get(line.member) ?? []), line]);
  const reached = new Set([subject, ...found.keys()]);
  for (const member of reached) {
    for (const { role, line } of given.get(member) ?? []) {
      const from = `${ruleName(line)} (${member})`;
      const sources = found.get(role);
      if (sources === undefined) found.set(role, [from]);
      else sources.push(from);
      reached.add(role);
    }
  }
  return [...found].map(([name, from]) => ({ name, from }));
}
