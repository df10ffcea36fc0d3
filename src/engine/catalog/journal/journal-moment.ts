import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '../../../store/store.ts';
import type { Committer } from '../records/commit-loop.ts';

export const MOMENT_PAUSE_MILLIS = 20;
export const MOMENT_ATTEMPTS = 500;

/**
 * The number of a change such that the journal has this one and all before it on
 * disk for certain, everything that was acknowledged before the call among them.
 * @throws Error when others hold changes back for too long.
 */
export async function journaledMoment(store: Store, committer: Committer): Promise<bigint> {
  const sequence = await store.sequence();
  for (let attempt = 0; attempt < MOMENT_ATTEMPTS; attempt++) {
    await committer.catchUp?.();
    const last = await store.sequence();
    // A change that the store no longer holds has its line.
    const [pending] = await store.changes(1);
    const moment = pending === undefined || pending.sequence > last ? last : pending.sequence - 1n;
    if (moment >= sequence) return moment;
    await sleep(MOMENT_PAUSE_MILLIS);
  }
  throw new Error(`the changes up to ${sequence} do not come into the journal`);
}
