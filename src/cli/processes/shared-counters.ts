import type { MemoryQuota } from '../../store/embedded/memory-quota.ts';
import type { QuotaCharge, QuotaRate, QuotaReading, QuotaUse } from '../../store/quota.ts';

/** What a process keeps of a counter: units of its rate, and slots. Both are taken from the counter. */
export interface Kept {
  readonly key: string;
  readonly rate: QuotaRate | null;
  readonly units: number;
  readonly slots: number;
}

/** What a process no longer keeps of a counter. */
export interface Returned extends Kept {
  /** Whether it keeps nothing more, but slots of requests in progress. */
  readonly isAll: boolean;
}

/** A request of a process to its supervisor. */
export type QuotaRequest =
  | {
      readonly quota: 'take';
      readonly id: number;
      readonly charges: readonly QuotaCharge[];
      /** By charge, whether it keeps some more of the counter, for requests that it expects. */
      readonly keeps: readonly boolean[];
    }
  | { readonly quota: 'give'; readonly id: number }
  | { readonly quota: 'used'; readonly id: number; readonly most: number }
  /** @param recall Number of the recall that it answers. */
  | {
      readonly quota: 'back';
      readonly parts: readonly Returned[];
      readonly recall: number | null;
    };

/** Requests of a process, all of one turn of its event loop: a message costs more than what it says. */
export interface QuotaRequests {
  readonly quotaRequests: readonly QuotaRequest[];
}

export interface TakenReply {
  readonly quota: 'taken';
  readonly id: number;
  readonly granted: boolean;
  readonly readings: readonly QuotaReading[];
  readonly kept: readonly Kept[];
}

export interface UsedReply {
  readonly quota: 'used';
  readonly id: number;
  readonly uses: readonly QuotaUse[];
}

/** What the supervisor says to a process: its answers, and which counters it may keep nothing of. */
export type QuotaReply =
  | TakenReply
  | UsedReply
  | { readonly quota: 'recall'; readonly id: number; readonly keys: readonly string[] };

export interface QuotaReplies {
  readonly quotaReplies: readonly QuotaReply[];
}

/** Most units and slots that a process keeps of a counter at once. */
const MOST_UNITS = 1024;
const MOST_SLOTS = 64;
/** It keeps at most what is left, divided by this. */
const SHARE = 32;
/** How long a process may take to return what it keeps, in ms. */
export const RECALL_MILLIS = 50;

/**
 * Counters of limits for several processes. A process that counts much keeps some of what is left of a
 * counter, so that it need not ask for each request. Before a request is refused, all return what they
 * keep: no more and no less is granted than a single process would.
 */
export class SharedCounters {
  readonly #quota: MemoryQuota;
  readonly #processes = new Set<CountedProcess>();
  /** How many recalls of a counter are in progress. */
  readonly #recalls = new Map<string, number>();

  constructor(quota: MemoryQuota) {
    this.#quota = quota;
  }

  /** Serves a process. @param send Called with messages to it. */
  serve(send: (message: QuotaReplies) => void): CountedProcess {
    const process = new CountedProcess(this.#quota, send, {
      keepersOf: (keys) => [...this.#processes].filter((each) => each.keepsAny(keys)),
      recall: (keepers, keys) => this.#recall(keepers, keys),
      isRecalled: (key) => this.#recalls.has(key),
      ended: () => this.#processes.delete(process),
    });
    this.#processes.add(process);
    return process;
  }

  async #recall(keepers: readonly CountedProcess[], keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#recalls.set(key, (this.#recalls.get(key) ?? 0) + 1);
    await Promise.all(keepers.map((process) => process.recall(keys)));
    for (const key of keys) {
      const left = (this.#recalls.get(key) ?? 1) - 1;
      if (left > 0) this.#recalls.set(key, left);
      else this.#recalls.delete(key);
    }
  }
}

/** What a process has to do with the others. */
interface Others {
  /** Those that keep something of any of the counters. */
  readonly keepersOf: (keys: readonly string[]) => readonly CountedProcess[];
  readonly recall: (keepers: readonly CountedProcess[], keys: readonly string[]) => Promise<void>;
  readonly isRecalled: (key: string) => boolean;
  readonly ended: () => void;
}

type TakeRequest = Extract<QuotaRequest, { readonly quota: 'take' }>;

/** What the supervisor knows of what a process keeps of a counter. */
interface KeptRecord {
  /** Whether it may have units or free slots. */
  isOpen: boolean;
  /** Of each slot. */
  readonly releases: (() => void)[];
}

/** A process as its supervisor counts for it. */
export class CountedProcess {
  readonly #quota: MemoryQuota;
  readonly #send: (message: QuotaReplies) => void;
  readonly #others: Others;
  /** Releases of requests that asked for themselves. */
  readonly #held = new Map<number, () => void>();
  readonly #kept = new Map<string, KeptRecord>();
  readonly #recalls = new Map<number, () => void>();
  #lastRecall = 0;
  #hasEnded = false;

  constructor(quota: MemoryQuota, send: (message: QuotaReplies) => void, others: Others) {
    this.#quota = quota;
    this.#send = send;
    this.#others = others;
  }

  /** Answers the requests of a message. */
  receive(requests: readonly QuotaRequest[]): void {
    const ready: QuotaReply[] = [];
    const refused: (() => void)[] = [];
    for (const request of requests) {
      if (request.quota === 'take') {
        const keys = request.charges.map(({ key }) => key);
        const reply = this.#taken(request);
        const keepers = reply.granted ? [] : this.#others.keepersOf(keys);
        if (keepers.length === 0) ready.push(reply);
        else refused.push(() => void this.#takeAfter(request, this.#others.recall(keepers, keys)));
      } else if (request.quota === 'used') void this.#use(request.id, request.most);
      else if (request.quota === 'give') this.#give(request.id);
      else this.#backAll(request.parts, request.recall);
    }
    // Before any recall of what they say: a process receives messages in order.
    this.#say(ready);
    for (const recall of refused) recall();
  }

  keepsAny(keys: readonly string[]): boolean {
    return keys.some((key) => this.#kept.get(key)?.isOpen === true);
  }

  /** Has it return what it keeps. What a process does not return in time counts as used. */
  recall(keys: readonly string[]): Promise<void> {
    const open = keys.filter((key) => this.keepsAny([key]));
    const id = this.#lastRecall++;
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#recalls.delete(id);
        for (const key of open) this.#closeKept(key);
        resolve();
      };
      const timer = setTimeout(end, RECALL_MILLIS);
      this.#recalls.set(id, end);
      this.#say([{ quota: 'recall', id, keys: open }]);
    });
  }

  /** Releases its slots. Units that it kept come back with time. */
  ended(): void {
    this.#hasEnded = true;
    for (const end of this.#recalls.values()) end();
    for (const release of this.#held.values()) release();
    for (const { releases } of this.#kept.values()) for (const release of releases) release();
    this.#held.clear();
    this.#kept.clear();
    this.#others.ended();
  }

  #say(quotaReplies: readonly QuotaReply[]): void {
    if (quotaReplies.length > 0 && !this.#hasEnded) this.#send({ quotaReplies });
  }

  async #takeAfter(request: TakeRequest, recalled: Promise<void>): Promise<void> {
    await recalled;
    this.#say([this.#taken(request)]);
  }

  #taken({ id, charges, keeps }: TakeRequest): TakenReply {
    const { granted, readings, release } = this.#quota.take(charges);
    if (this.#hasEnded) release();
    else if (granted && charges.some(({ concurrency }) => concurrency !== null))
      this.#held.set(id, release);
    const mayKeep = granted && !this.#hasEnded;
    const kept = charges.flatMap((charge, at) =>
      mayKeep && keeps[at] === true ? this.#keep(charge, readings[at]!) : [],
    );
    return { quota: 'taken', id, granted, readings, kept };
  }

  async #use(id: number, most: number): Promise<void> {
    this.#say([{ quota: 'used', id, uses: await this.#quota.used(most) }]);
  }

  #give(id: number): void {
    this.#held.get(id)?.();
    this.#held.delete(id);
  }

  #keep(charge: QuotaCharge, { left, slotsLeft }: QuotaReading): readonly Kept[] {
    const { key, rate } = charge;
    if (this.#others.isRecalled(key)) return [];
    const isRated = rate !== null && charge.cost > 0;
    const units = isRated ? Math.min(MOST_UNITS, Math.floor((left ?? 0) / SHARE)) : 0;
    const slots = Math.min(MOST_SLOTS, Math.floor((slotsLeft ?? 0) / SHARE));
    if (units > 0) this.#quota.take([{ ...charge, cost: units, concurrency: null }]);
    const releases = Array.from(
      { length: slots },
      () => this.#quota.take([{ ...charge, rate: null }]).release,
    );
    if (units + slots === 0) return [];
    const record = this.#kept.get(key) ?? { isOpen: true, releases: [] };
    record.isOpen = true;
    record.releases.push(...releases);
    this.#kept.set(key, record);
    return [{ key, rate, units, slots }];
  }

  #backAll(parts: readonly Returned[], recall: number | null): void {
    for (const part of parts) this.#back(part);
    if (recall !== null) this.#recalls.get(recall)?.();
  }

  #back({ key, rate, units, slots, isAll }: Returned): void {
    if (rate !== null) this.#quota.refund(key, rate, units);
    const record = this.#kept.get(key);
    for (let slot = 0; slot < slots; slot++) record?.releases.pop()?.();
    if (isAll) this.#closeKept(key);
    else if (record?.isOpen === false && record.releases.length === 0) this.#kept.delete(key);
  }

  #closeKept(key: string): void {
    const record = this.#kept.get(key);
    if (record === undefined) return;
    record.isOpen = false;
    if (record.releases.length === 0) this.#kept.delete(key);
  }
}
