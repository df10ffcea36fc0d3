/** A rate as it is counted: a request of some cost pushes the counter ahead of the clock, and it falls back as time goes by. */
export interface QuotaRate {
  /** Microseconds that one unit of cost takes: a million divided by the units of a second. */
  readonly intervalMicros: number;
  /** So many units may be taken at once. */
  readonly burst: number;
}

/** What a request asks of one counter. */
export interface QuotaCharge {
  /** The name of the counter: the limit, and whom it counts. */
  readonly key: string;
  readonly rate: QuotaRate | null;
  /** Units of the rate; 0 takes none. */
  readonly cost: number;
  /** So many requests may run at once; null for any number. */
  readonly concurrency: number | null;
}

/** How a counter stands after a request was counted, or refused. */
export interface QuotaReading {
  /** Microseconds until the rate would let the request through; 0 when it does. */
  readonly waitMicros: number;
  /** Units of the rate that may be taken now; null without a rate. */
  readonly left: number | null;
  /** Microseconds until the whole burst may be taken again. */
  readonly fullMicros: number;
  /** How many more may run beside those that do; null for any number. */
  readonly slotsLeft: number | null;
  /** Whether it was refused since too many run. */
  readonly busy: boolean;
}

/** The answer to all asks of one request. */
export interface QuotaAnswer {
  readonly granted: boolean;
  /** One for each ask, in their order. */
  readonly readings: readonly QuotaReading[];
  /** Gives the slots back; the second call does nothing. */
  readonly release: () => void;
}

/**
 * Counters of what callers have used: rates by the generic cell rate algorithm, and
 * slots of those that run. All asks of a request are granted together, or nothing is
 * taken from any of them.
 */
export interface Quota {
  /**
   * At once where the counters are in memory.
   * @throws StoreError unavailable when the counters cannot be read, by the promise; then it is not known whether something was taken.
   */
  take(asks: readonly QuotaCharge[]): QuotaAnswer | Promise<QuotaAnswer>;
  /** Why nothing is counted now, if it is so. */
  fault(): string | undefined;
  close(): Promise<void>;
}
