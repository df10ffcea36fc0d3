import { PolicyError } from './lines/policy-error.ts';
import { PolicyFollower } from './policy-follower.ts';
import type { ReadOptions } from './policy-reader.ts';
import type { PolicyChange, ServedPolicy } from './served-policy.ts';
import type { PolicySnapshot } from './decide/snapshot.ts';
import { watchStill } from './still-folder.ts';

/** The policy in force, kept up with its folder. */
export interface PolicyWatch {
  /** The last good policy; replaced as a whole, so a request keeps the one it started with. */
  current(): PolicySnapshot;
  /** Faults of the current files; undefined if they are the policy in force. */
  refused(): string | undefined;
  close(): void;
}

/**
 * Follows the files of a policy. A policy that is
 * refused changes nothing: the last good one stays. One that lacks a deny line, a limit or a
 * rule of the last one is taken when its folder has been still for two seconds, or matches its
 * digest file.
 */
export function watchPolicy(
  folder: string,
  first: ServedPolicy,
  onChange: (snapshot: PolicySnapshot, change: PolicyChange | undefined) => void,
  onRefused: (findings: readonly string[]) => void,
  options: ReadOptions,
): PolicyWatch {
  let current = first;
  let refused: readonly string[] = [];
  let closed = false;

  const accept = (policy: ServedPolicy): void => {
    refused = [];
    if (policy === current) return;
    current = policy;
    onChange(policy.snapshot, policy.since);
  };
  const refuse = (findings: readonly string[]): void => {
    const isSame = findings.join('\n') === refused.join('\n');
    refused = findings;
    if (!isSame) onRefused(findings);
  };
  const follower = new PolicyFollower(folder, options);
  const watch = watchStill(folder, async (stillMillis) => {
    const result = await follower.next(current, stillMillis).catch(refusalOf);
    if (closed) return true;
    if (typeof result === 'number') return result;
    if ('findings' in result) refuse(result.findings);
    else accept(result);
    return 'findings' in result ? !result.passing : true;
  });
  return {
    current: () => current.snapshot,
    refused: () => (refused.length === 0 ? undefined : refused.join('\n')),
    close: () => {
      closed = true;
      watch.close();
    },
  };
}

/** Any error of a reload refuses it; the current policy stays in force. */
export function refusalOf(error: unknown): Pick<PolicyError, 'findings' | 'passing'> {
  if (error instanceof PolicyError) return error;
  return { findings: [`policy: ${String(error)}`], passing: true };
}
