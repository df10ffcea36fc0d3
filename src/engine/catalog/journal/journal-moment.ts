import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '../../../store/store.ts';
import type { Committer } from '../records/commit-loop.ts';

const PAUSE_MILLIS = 20;
const ATTEMPTS = 500;

/**
 * The number of a change such that the journal has this one and all before it on
 * disk for certain, everything that was acknowledged before the call among them.
 * @throws Error when others hold changes back for too long.
 */
export async function journaledMoment(store: Store, committer: Committer): Promise<bigint> {
  const asked = await store.sequence();
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    await committer.catchUp?.();
    const last = await store.sequence();
    // What the store does not hold any more has its line.
    const [pending] = await store.changes(1);
    const moment = pending === undefined || pending.sequence > last ? last : pending.sequence - 1n;
    if (moment >= asked) return moment;
    await sleep(PAUSE_MILLIS);
  }
  throw new Error(`the changes up to ${asked} do not come into the journal`);
}
