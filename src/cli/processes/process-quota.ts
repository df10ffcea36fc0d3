import cluster from 'node:cluster';
import { StoreError } from '../../store/store-error.ts';
import { openQuota } from '../../store/open/open-store.ts';
import type { Quota, QuotaAnswer, QuotaCharge, QuotaUse } from '../../store/quota.ts';
import type { Config } from '../config/config-table.ts';
import {
  isQuotaReplies,
  type QuotaReply,
  type QuotaRequest,
  type QuotaRequests,
  type TakenReply,
  type UsedReply,
} from './process-life.ts';

/** Opens the counters of limits: in Redis, with the supervisor where several processes serve, else in this process. */
export async function openCounters(config: Config): Promise<Quota> {
  const redis = config['coordination.redis'];
  if (redis === null && config.processes > 1 && cluster.isWorker) return new ProcessQuota();
  return openQuota({ redis, catalog: config['coordination.catalog'] });
}

/** How long the supervisor may take to count a request, in ms. */
export const COUNT_MILLIS = 2000;

interface Waiting {
  readonly resolve: (reply: QuotaReply) => void;
  readonly reject: (error: Error) => void;
}

/** Counters of the process that supervises this one. */
class ProcessQuota implements Quota {
  readonly #waiting = new Map<number, Waiting>();
  /** Requests of this turn of the event loop. */
  #unsent: QuotaRequest[] = [];
  #requests = 0;

  constructor() {
    process.on('message', this.#answered);
    process.once('disconnect', this.#cut);
  }

  async take(charges: readonly QuotaCharge[]): Promise<QuotaAnswer> {
    const id = this.#requests++;
    const taken = await this.#reply<TakenReply>({ quota: 'take', id, charges });
    const { granted, readings } = taken;
    return { granted, readings, release: granted ? this.#releaseOf(id, charges) : () => undefined };
  }

  async used(most: number): Promise<readonly QuotaUse[]> {
    const { uses } = await this.#reply<UsedReply>({ quota: 'used', id: this.#requests++, most });
    return uses;
  }

  /** The answer to a request, which is of its kind. */
  async #reply<Reply extends QuotaReply>(request: QuotaRequest): Promise<Reply> {
    const { id } = request;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<Reply>((resolve, reject) => {
        if (!process.connected) return reject(storeUnavailable());
        this.#waiting.set(id, { resolve: (reply) => resolve(reply as Reply), reject });
        timer = setTimeout(() => reject(storeUnavailable()), COUNT_MILLIS);
        this.#send(request);
      });
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }

  fault(): string | undefined {
    return process.connected ? undefined : 'the supervisor is gone, so limits are not counted';
  }

  async close(): Promise<void> {
    process.off('message', this.#answered);
    process.off('disconnect', this.#cut);
    this.#cut();
  }

  readonly #answered = (message: unknown): void => {
    if (isQuotaReplies(message)) for (const reply of message.quotaReplies) this.#take(reply);
  };

  readonly #cut = (): void => {
    for (const { reject } of this.#waiting.values()) reject(storeUnavailable());
    this.#waiting.clear();
  };

  #take(reply: QuotaReply): void {
    const waiting = this.#waiting.get(reply.id);
    if (waiting !== undefined) waiting.resolve(reply);
    // Its request was decided without it: what it holds is free again.
    else if (reply.quota === 'taken' && reply.granted) this.#send({ quota: 'give', id: reply.id });
  }

  #releaseOf(id: number, charges: readonly QuotaCharge[]): () => void {
    let held = charges.some(({ concurrency }) => concurrency !== null);
    return () => {
      if (held) this.#send({ quota: 'give', id });
      held = false;
    };
  }

  /** Sends a request with the others of this turn. */
  #send(request: QuotaRequest): void {
    if (this.#unsent.push(request) > 1) return;
    setImmediate(() => {
      const message: QuotaRequests = { quotaRequests: this.#unsent };
      this.#unsent = [];
      if (process.connected) process.send?.(message);
    });
  }
}

function storeUnavailable(): StoreError {
  return new StoreError('unavailable', 'the supervisor does not answer');
}
