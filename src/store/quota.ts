/** A rate limit: a request advances the counter ahead of the clock by its cost, and time catches up. */
export interface QuotaRate {
  /** Microseconds per unit of cost: a million divided by the units per second. */
  readonly intervalMicros: number;
  /** Maximum number of units at once. */
  readonly burst: number;
}

/** A request's charge to one counter. */
export interface QuotaCharge {
  /** Name of the counter: the limit and its subject. */
  readonly key: string;
  readonly rate: QuotaRate | null;
  /** Units of the rate; 0 takes none. */
  readonly cost: number;
  /** Maximum number of concurrent requests; null for no limit. */
  readonly concurrency: number | null;
}

/** State of a counter after a request was granted or refused. */
export interface QuotaReading {
  /** Microseconds until the rate grants the request; 0 if it does. */
  readonly waitMicros: number;
  /** Units that are available now; null without a rate. */
  readonly left: number | null;
  /** Microseconds until the whole burst is available. */
  readonly fullMicros: number;
  /** Free concurrency slots; null for no limit. */
  readonly slotsLeft: number | null;
  /** Whether the request was refused because all slots are taken. */
  readonly busy: boolean;
}

/** Result of all charges of one request. */
export interface QuotaAnswer {
  readonly granted: boolean;
  /** One reading for each charge, in order. */
  readonly readings: readonly QuotaReading[];
  /** Releases the slots; further calls do nothing. */
  readonly release: () => void;
}

/** A counter that is in use. */
export interface QuotaUse {
  /** Name of the counter, as `QuotaCharge.key`. */
  readonly key: string;
  /** Microseconds until the rate is whole again; 0 if it is, or there is none. */
  readonly fullMicros: number;
  /** Slots that are taken. */
  readonly slots: number;
}

/**
 * Counters of limits: rates by the generic cell rate algorithm, and concurrency slots.
 * All charges of a request are granted together, or none is taken.
 */
export interface Quota {
  /**
   * Charges a request; synchronous where the counters are in memory.
   * @throws StoreError unavailable, by the promise; then it is unknown whether the charges were taken.
   */
  take(charges: readonly QuotaCharge[]): QuotaAnswer | Promise<QuotaAnswer>;
  /**
   * The counters that are in use: those that take longest to be whole come first. Nothing is charged.
   * @param most Largest number of them.
   * @throws StoreError unavailable.
   */
  used(most: number): Promise<readonly QuotaUse[]>;
  /** Why limits are not counted; undefined while they are. */
  fault(): string | undefined;
  close(): Promise<void>;
}
