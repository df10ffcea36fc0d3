import { CatalogError } from '../../protocol/errors.ts';
import { keyState } from '../../gateway/identity/keys.ts';
import { PoliciesBefore } from '../../gateway/replay/policy-before.ts';
import type { LoadedPolicy } from '../../policy/load.ts';
import type { KnownObjects } from '../../policy/reach-lint.ts';
import type { DeskKey, DeskPlaces } from './desk-task.ts';

/** What a task works with. */
export interface Desk extends DeskPlaces {
  readonly keys: readonly DeskKey[];
  /** Existing objects; undefined if there is no catalog here. */
  readonly objects: () => Promise<KnownObjects | undefined>;
  /** Hands a part of the answer to the caller. */
  readonly part: (value: object) => void;
}

const PROGRESS_MILLIS = 200;

/** Hands the progress of long work to the caller, at most five times a second. */
export function progressTo(part: Desk['part'], stage: string): (done: number) => void {
  let last = 0;
  return (done) => {
    const now = performance.now();
    if (now - last < PROGRESS_MILLIS) return;
    last = now;
    part({ stage, done });
  };
}

/** @throws CatalogError ServiceUnavailable */
export async function policyInForce(audit: string, digest: string): Promise<LoadedPolicy> {
  const policy = await new PoliciesBefore(audit).of(digest);
  if (policy !== undefined) return policy;
  throw new CatalogError('ServiceUnavailable', 'the policy in force is not archived yet');
}

/** The keys that may be used now. */
export function usableKeys(keys: readonly DeskKey[]): readonly DeskKey[] {
  const now = new Date();
  return keys.filter((key) => keyState(key, now) === 'active');
}
