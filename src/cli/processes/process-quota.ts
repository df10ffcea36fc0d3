import cluster from 'node:cluster';
import { StoreError } from '../../store/store-error.ts';
import { openQuota } from '../../store/open/open-store.ts';
import type { Quota, QuotaAnswer, QuotaCharge } from '../../store/quota.ts';
import type { Config } from '../config/config-table.ts';
import { isQuotaReply, type QuotaReply, type QuotaRequest } from './process-life.ts';

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
  #requests = 0;

  constructor() {
    process.on('message', this.#answered);
    process.once('disconnect', this.#cut);
  }

  async take(charges: readonly QuotaCharge[]): Promise<QuotaAnswer> {
    const id = this.#requests++;
    const { granted, readings } = await this.#reply(id, charges);
    return { granted, readings, release: granted ? releaseOf(id, charges) : () => undefined };
  }

  async #reply(id: number, charges: readonly QuotaCharge[]): Promise<QuotaReply> {
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<QuotaReply>((resolve, reject) => {
        if (!process.connected) return reject(storeUnavailable());
        this.#waiting.set(id, { resolve, reject });
        timer = setTimeout(() => reject(storeUnavailable()), COUNT_MILLIS);
        sendToSupervisor({ quota: 'take', id, charges });
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
    if (!isQuotaReply(message)) return;
    const waiting = this.#waiting.get(message.id);
    if (waiting !== undefined) waiting.resolve(message);
    // Its request was decided without it: what it holds is free again.
    else if (message.granted) sendToSupervisor({ quota: 'give', id: message.id });
  };

  readonly #cut = (): void => {
    for (const { reject } of this.#waiting.values()) reject(storeUnavailable());
    this.#waiting.clear();
  };
}

function releaseOf(id: number, charges: readonly QuotaCharge[]): () => void {
  let held = charges.some(({ concurrency }) => concurrency !== null);
  return () => {
    if (held) sendToSupervisor({ quota: 'give', id });
    held = false;
  };
}

function sendToSupervisor(request: QuotaRequest): void {
  if (process.connected) process.send?.(request);
}

function storeUnavailable(): StoreError {
  return new StoreError('unavailable', 'the supervisor does not answer');
}
