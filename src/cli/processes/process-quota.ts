import cluster from 'node:cluster';
import { StoreError } from '../../store/store-error.ts';
import { openQuota } from '../../store/open/open-store.ts';
import type { Quota, QuotaAnswer, QuotaCharge, QuotaReading, QuotaUse } from '../../store/quota.ts';
import type { Config } from '../config/config-table.ts';
import {
  atFirstCall,
  isOfLimit,
  leaseAllows,
  takenFrom,
  type CounterLease,
} from './counter-lease.ts';
import type {
  Kept,
  QuotaReplies,
  QuotaReply,
  QuotaRequest,
  QuotaRequests,
  Returned,
  TakenReply,
  UsedReply,
} from './shared-counters.ts';

/** Opens the counters of limits: in Redis, with the supervisor where several processes serve, else in this process. */
export async function openCounters(config: Config): Promise<Quota> {
  const redis = config['coordination.redis'];
  if (redis === null && config.processes > 1 && cluster.isWorker) {
    return new ProcessQuota(supervisor);
  }
  return openQuota({ redis, catalog: config['coordination.catalog'] });
}

/** How long the supervisor may take to count a request, in ms. */
export const COUNT_MILLIS = 2000;
/** What a process kept and did not use for this long goes back, in ms. */
const IDLE_MILLIS = 50;
/** A process keeps something of a counter that it asked of so often in this time. */
const BUSY_ASKS = 3;

/** The way from a process to its supervisor. */
export interface SupervisorPort {
  readonly isConnected: () => boolean;
  readonly send: (message: QuotaRequests) => void;
  /**
   * @param receive Called with the supervisor's messages. @param cut Called once it is gone.
   * @returns Ends the calls.
   */
  readonly listen: (receive: (message: unknown) => void, cut: () => void) => () => void;
}

const supervisor: SupervisorPort = {
  isConnected: () => process.connected,
  send: (message) => {
    if (process.connected) process.send?.(message);
  },
  listen: (receive, cut) => {
    process.on('message', receive);
    process.once('disconnect', cut);
    return () => {
      process.off('message', receive);
      process.off('disconnect', cut);
    };
  },
};

interface Waiting {
  readonly resolve: (reply: TakenReply | UsedReply) => void;
  readonly reject: (error: Error) => void;
}

/** Counters of the process that supervises this one, and what this one keeps of them. */
export class ProcessQuota implements Quota {
  readonly #port: SupervisorPort;
  readonly #unlisten: () => void;
  readonly #waiting = new Map<number, Waiting>();
  readonly #leases = new Map<string, CounterLease>();
  /** How often counters were asked of since the last turn of the timer. */
  readonly #asks = new Map<string, number>();
  /** Counters of which something to keep was asked for. */
  readonly #asked = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  /** Requests of this turn of the event loop. */
  #unsent: QuotaRequest[] = [];
  #requests = 0;

  constructor(port: SupervisorPort) {
    this.#port = port;
    this.#unlisten = port.listen(
      (message) => {
        if (isReplies(message)) for (const reply of message.quotaReplies) this.#receive(reply);
      },
      () => this.#cut(),
    );
  }

  take(charges: readonly QuotaCharge[]): QuotaAnswer | Promise<QuotaAnswer> {
    const leases = this.#leasesFor(charges);
    return leases === undefined ? this.#ask(charges) : takenFrom(charges, leases, this.#leave);
  }

  async used(most: number): Promise<readonly QuotaUse[]> {
    const { uses } = await this.#reply<UsedReply>({ quota: 'used', id: this.#requests++, most });
    return uses;
  }

  fault(): string | undefined {
    if (this.#port.isConnected()) return undefined;
    return 'the supervisor is gone, so limits are not counted';
  }

  async close(): Promise<void> {
    this.#unlisten();
    clearTimeout(this.#timer);
    this.#cut();
  }

  /** What is kept of each counter; undefined if it is not enough. */
  #leasesFor(charges: readonly QuotaCharge[]): readonly CounterLease[] | undefined {
    const leases: CounterLease[] = [];
    for (const charge of charges) {
      const lease = this.#leases.get(charge.key);
      if (lease === undefined || leases.includes(lease) || !leaseAllows(lease, charge))
        return undefined;
      leases.push(lease);
    }
    return leases;
  }

  async #ask(charges: readonly QuotaCharge[]): Promise<QuotaAnswer> {
    const id = this.#requests++;
    const keeps = charges.map((charge) => this.#keeps(charge));
    // Kept at once: the next message may recall it.
    const received = ({ kept, readings }: TakenReply): void => {
      for (const [at, charge] of charges.entries()) {
        const part = kept.find(({ key }) => key === charge.key);
        if (part === undefined) this.#see(charge, readings[at]!);
        else this.#keep(charge, part, readings[at]!);
      }
    };
    const request = { quota: 'take', id, charges, keeps } as const;
    const reply = this.#reply<TakenReply>(request, received).finally(() => {
      for (const [at, { key }] of charges.entries())
        if (keeps[at] === true) this.#asked.delete(key);
    });
    const { granted, readings } = await reply;
    const holds = granted && charges.some(({ concurrency }) => concurrency !== null);
    return {
      granted,
      readings,
      release: atFirstCall(() => holds && this.#send({ quota: 'give', id })),
    };
  }

  /** Whether some more of a counter is to be kept: it is asked of again and again, and all that was kept is used up. */
  #keeps(charge: QuotaCharge): boolean {
    this.#timer ??= setTimeout(() => this.#turn(), IDLE_MILLIS).unref();
    const { key } = charge;
    const asks = (this.#asks.get(key) ?? 0) + 1;
    this.#asks.set(key, asks);
    const lease = this.#leases.get(key);
    const isEnough = lease !== undefined && leaseAllows(lease, charge);
    if (asks < BUSY_ASKS || isEnough || this.#asked.has(key)) return false;
    this.#asked.add(key);
    return true;
  }

  #keep(charge: QuotaCharge, { units, slots }: Kept, reading: QuotaReading): void {
    const { key, rate, concurrency } = charge;
    let lease = this.#leases.get(key);
    if (lease !== undefined && !isOfLimit(lease, charge)) {
      // The limit was changed.
      this.#send({ quota: 'back', parts: this.#closed([key]), recall: null });
      lease = undefined;
    }
    this.#leases.set(key, {
      rate,
      concurrency,
      units: (lease?.units ?? 0) + units,
      slots: (lease?.slots ?? 0) + slots,
      left: (reading.left ?? 0) - units,
      slotsLeft: (reading.slotsLeft ?? 0) - slots,
      fullMicros: reading.fullMicros + units * (rate?.intervalMicros ?? 0),
      isUsed: true,
      isOpen: true,
    });
    if (lease !== undefined) lease.isOpen = false;
  }

  /** What a counter has beside what is kept of it. */
  #see({ key }: QuotaCharge, { left, slotsLeft, fullMicros }: QuotaReading): void {
    const lease = this.#leases.get(key);
    if (lease === undefined) return;
    lease.left = left ?? 0;
    lease.slotsLeft = slotsLeft ?? 0;
    lease.fullMicros = fullMicros;
  }

  /** The slot of a request that ended. */
  readonly #leave = (key: string, lease: CounterLease): void => {
    const now = lease.isOpen ? lease : this.#leases.get(key);
    if (now !== undefined && now.concurrency === lease.concurrency) now.slots += 1;
    else this.#send({ quota: 'back', parts: [{ ...NOTHING, key, slots: 1 }], recall: null });
  };

  /** Returns what was not used since the last turn. */
  #turn(): void {
    this.#timer = undefined;
    this.#asks.clear();
    const idle = [...this.#leases].filter(([, lease]) => !lease.isUsed).map(([key]) => key);
    if (idle.length > 0) this.#send({ quota: 'back', parts: this.#closed(idle), recall: null });
    for (const lease of this.#leases.values()) lease.isUsed = false;
    if (this.#leases.size > 0) {
      this.#timer = setTimeout(() => this.#turn(), IDLE_MILLIS).unref();
    }
  }

  /** Ends leases, and says what of them is left. */
  #closed(keys: readonly string[]): readonly Returned[] {
    return keys.flatMap((key) => {
      const lease = this.#leases.get(key);
      if (lease === undefined) return [];
      this.#leases.delete(key);
      lease.isOpen = false;
      const { rate, units, slots } = lease;
      return [{ key, rate, units, slots, isAll: true }];
    });
  }

  /** The answer to a request, which is of its kind. */
  async #reply<Reply extends TakenReply | UsedReply>(
    request: Extract<QuotaRequest, { readonly quota: 'take' | 'used' }>,
    received: (reply: Reply) => void = () => undefined,
  ): Promise<Reply> {
    const { id } = request;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<Reply>((resolve, reject) => {
        if (!this.#port.isConnected()) return reject(storeUnavailable());
        const answered = (reply: TakenReply | UsedReply): void => {
          received(reply as Reply);
          resolve(reply as Reply);
        };
        this.#waiting.set(id, { resolve: answered, reject });
        timer = setTimeout(() => reject(storeUnavailable()), COUNT_MILLIS);
        this.#send(request);
      });
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }

  #receive(reply: QuotaReply): void {
    if (reply.quota === 'recall') {
      this.#send({ quota: 'back', parts: this.#closed(reply.keys), recall: reply.id });
      return;
    }
    const waiting = this.#waiting.get(reply.id);
    if (waiting !== undefined) return waiting.resolve(reply);
    if (reply.quota === 'used' || !reply.granted) return;
    // Its request was decided without it: what it holds is free again.
    this.#send({ quota: 'give', id: reply.id });
    const parts = reply.kept.map((part) => ({ ...part, isAll: false }));
    if (parts.length > 0) this.#send({ quota: 'back', parts, recall: null });
  }

  #cut(): void {
    for (const { reject } of this.#waiting.values()) reject(storeUnavailable());
    this.#waiting.clear();
  }

  /** Sends a request with the others of this turn. */
  #send(request: QuotaRequest): void {
    if (this.#unsent.push(request) > 1) return;
    setImmediate(() => {
      const quotaRequests = this.#unsent;
      this.#unsent = [];
      this.#port.send({ quotaRequests });
    });
  }
}

const NOTHING = { rate: null, units: 0, slots: 0, isAll: false } as const;

function isReplies(message: unknown): message is QuotaReplies {
  return typeof message === 'object' && message !== null && 'quotaReplies' in message;
}

function storeUnavailable(): StoreError {
  return new StoreError('unavailable', 'the supervisor does not answer');
}
