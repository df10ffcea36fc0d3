import { reloadPolicy, type LoadOptions } from './load.ts';
import { PolicyError } from './policy-error.ts';
import type { PolicySnapshot } from './snapshot.ts';
import { watchStill } from './still-folder.ts';

/** The policy in force, kept up with its folder. */
export interface PolicyWatch {
  /** The last good policy; swapped whole, so what one request took stays as it is. */
  current(): PolicySnapshot;
  /** What is wrong with the files as they are now; undefined if the policy in force is theirs. */
  refused(): string | undefined;
  close(): void;
}

/**
 * Follows the files of a policy (contract section 5). A policy that is
 * refused changes nothing: the last good one stays.
 */
export function watchPolicy(
  folder: string,
  first: PolicySnapshot,
  onChange: (snapshot: PolicySnapshot) => void,
  onRefused: (findings: readonly string[]) => void,
  options?: LoadOptions,
): PolicyWatch {
  let current = first;
  let refused: readonly string[] = [];
  let closed = false;

  const accept = (snapshot: PolicySnapshot): void => {
    refused = [];
    if (snapshot === current) return;
    current = snapshot;
    onChange(snapshot);
  };
  const refuse = (findings: readonly string[]): void => {
    const known = findings.join('\n') === refused.join('\n');
    refused = findings;
    if (!known) onRefused(findings);
  };
  const watch = watchStill(folder, async () => {
    const result = await reloadPolicy(folder, current, options).catch(refusalOf);
    if (closed) return true;
    if ('digest' in result) accept(result);
    else refuse(result.findings);
    return 'digest' in result || !result.passing;
  });
  return {
    current: () => current,
    refused: () => (refused.length === 0 ? undefined : refused.join('\n')),
    close: () => {
      closed = true;
      watch.close();
    },
  };
}

/** Whatever goes wrong in a reload refuses it; the gateway goes on with the policy it has. */
export function refusalOf(error: unknown): Pick<PolicyError, 'findings' | 'passing'> {
  if (error instanceof PolicyError) return error;
  return { findings: [`policy: ${String(error)}`], passing: true };
}
