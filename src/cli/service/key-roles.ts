import type { StoredKey } from '../../gateway/identity/keys.ts';
import { loadPolicyLines, type FolderPolicy } from '../../policy/load.ts';
import { nearestName } from '../../policy/nearest.ts';
import { PolicyError } from '../../policy/lines/policy-error.ts';
import { namesInLines } from '../../policy/strangers.ts';

/** Roles of a key that no line of a policy names: they give nothing. */
export function roleWarnings(
  { id, roles }: Pick<StoredKey, 'id' | 'roles'>,
  policy: Pick<FolderPolicy, 'policies' | 'roles' | 'snapshot'>,
): readonly string[] {
  if (policy.snapshot.slow) return [];
  const { limits, commits, restrictions } = policy.snapshot;
  const named = new Set([
    ...namesInLines(policy),
    ...limits.limits.flatMap(({ subjects }) => [...(subjects ?? [])]),
    ...commits.rules.flatMap(({ except }) => except),
    ...restrictions.restrictions.flatMap(({ subjects, except }) => [
      ...(subjects ?? []),
      ...except,
    ]),
  ]);
  return roles
    .filter((role) => !named.has(role))
    .map((role) => {
      const near = nearestName(
        role,
        [...named].filter((name) => name.startsWith('role:')),
      );
      const hint = near === undefined ? '' : `: did you mean ${near}?`;
      return `the key ${id} has ${role}, which no line of the policy names${hint}`;
    });
}

/** The same for the policy of a folder, which may be invalid. */
export async function unknownRoles(
  key: Pick<StoredKey, 'id' | 'roles'>,
  folder: string,
): Promise<readonly string[]> {
  try {
    return roleWarnings(key, await loadPolicyLines(folder));
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    return [`the roles were not compared with the policy: ${error.findings[0] ?? error.message}`];
  }
}
