import type { Worker } from 'node:cluster';
import type { Quota } from '../store/quota.ts';
import { isQuotaRequest, type QuotaReply, type QuotaRequest } from './quota-message.ts';

/** Counts for a process, with counters that all processes of the service share, and gives back what it holds when it ends. */
export function countFor(worker: Worker, quota: Quota): void {
  const held = new Map<number, () => void>();
  const take = async ({ id, asks }: Extract<QuotaRequest, { quota: 'take' }>): Promise<void> => {
    const { granted, readings, ...answer } = await quota.take(asks);
    if (worker.isDead()) return answer.release();
    const holds = asks.some(({ concurrency }) => concurrency !== null);
    if (granted && holds) held.set(id, () => answer.release());
    const reply: QuotaReply = { quota: 'taken', id, granted, readings };
    // One that is about to end takes no message; its exit gives back what it holds.
    worker.send(reply, () => undefined);
  };
  const give = (id: number): void => {
    held.get(id)?.();
    held.delete(id);
  };
  worker.on('message', (message: unknown) => {
    if (!isQuotaRequest(message)) return;
    if (message.quota === 'take') void take(message);
    else give(message.id);
  });
  worker.once('exit', () => {
    for (const release of held.values()) release();
    held.clear();
  });
}
