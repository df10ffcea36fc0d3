import { readFile } from 'node:fs/promises';
import type { Principal, KeyScope } from '../../src/protocol/principal.ts';
import { buildPolicy, type LoadedPolicy } from '../../src/policy/load.ts';
import { PolicyError } from '../../src/policy/lines/policy-error.ts';
import type { PolicySnapshot } from '../../src/policy/decide/snapshot.ts';

/** The folder of the shipped policies. */
export const shippedFolder = new URL('../../policies/', import.meta.url).pathname;

/** The shipped model. */
export const shippedModel = await readFile(`${shippedFolder}model.conf`, 'utf8');

/** The policy of some lines under the shipped model, or another. */
export function policyOf(lines: readonly string[], model = shippedModel): Promise<LoadedPolicy> {
  return buildPolicy({ model, policy: lines.map((line) => `${line}\n`).join('') });
}

export async function snapshotOf(...lines: readonly string[]): Promise<PolicySnapshot> {
  return (await policyOf(lines)).snapshot;
}

/** What is wrong with a policy of these texts; nothing if it loads. */
export async function findingsOf(policy: string, model = shippedModel): Promise<readonly string[]> {
  try {
    await buildPolicy({ model, policy });
    return [];
  } catch (error) {
    if (error instanceof PolicyError) return error.findings;
    throw error;
  }
}

/** A principal of a name and others that begin `group:` or `role:`. */
export function principal(
  subject: string,
  more: readonly string[] = [],
  scopes?: readonly KeyScope[],
): Principal {
  return {
    subject,
    groups: more.filter((name) => name.startsWith('group:')),
    roles: more.filter((name) => name.startsWith('role:')),
    credential: { kind: 'key', id: 'test' },
    ...(scopes === undefined ? {} : { scopes }),
  };
}
