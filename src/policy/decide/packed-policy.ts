import { NameNumbers, type NameTable } from '../lines/name-table.ts';
import { numberRoles, type RoleArrays } from '../lines/packed-roles.ts';
import type { PolicyLine, RoleLine } from '../lines/policy-line.ts';
import { packTries, type TrieArrays } from './packed-tries.ts';
import { buildTries } from './trie.ts';

/** The lines of a policy, compiled into arrays: decisions read them as they are, on any thread. */
export interface PackedPolicy {
  /** Subjects, roles and segments. */
  readonly names: NameTable;
  readonly tries: TrieArrays;
  readonly roles: RoleArrays;
}

/** Compiles the lines of a policy under the shipped model. */
export function packPolicy(
  policies: readonly PolicyLine[],
  roles: readonly RoleLine[],
): PackedPolicy {
  const names = new NameNumbers();
  const packRoles = numberRoles(roles, names);
  const tries = packTries(buildTries(policies), names);
  return { names: names.table(), tries, roles: packRoles() };
}

/** The memory of a packed policy, which moves to the thread that receives it. */
export function buffersOf({ names, tries, roles }: PackedPolicy): readonly ArrayBuffer[] {
  const { nodes, children, entries, lines, rights } = tries;
  const arrays = [nodes, children, entries, lines, rights, roles.starts, roles.roles];
  return [names.units, names.ends, names.slots, ...arrays].map(({ buffer }) => buffer);
}
