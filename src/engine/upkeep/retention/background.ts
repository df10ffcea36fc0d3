import type { Collected, CollectOptions, Collector } from './collector.ts';

/** The collector; null while nothing may be changed. */
type CurrentCollector = () => Pick<Collector, 'collect'> | null;

interface BackgroundOptions {
  /** How long a dropped table can be brought back, in milliseconds. */
  readonly retentionMillis: number;
  readonly expiry?: CollectOptions['expiry'];
  /** Called after each run. */
  readonly done: (collected: Collected) => void;
  /** Called when a run could not be made. */
  readonly failed: (error: unknown) => void;
}

/** Collections are about so far apart, or as far as the shortest retention where that is shorter. */
const LONGEST_PAUSE = 600_000;
const SHORTEST_PAUSE = 5000;
/** Interval between searches for files that no version names, in ms: only crashes leave them. */
const ORPHANS_MILLIS = 86_400_000;

/** Collects what nothing needs again and again, until it is stopped. */
export class BackgroundCollection {
  readonly #collector: CurrentCollector;
  readonly #options: BackgroundOptions;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #run: Promise<void> = Promise.resolve();
  #orphansAt = 0;

  constructor(collector: CurrentCollector, options: BackgroundOptions) {
    this.#collector = collector;
    this.#options = options;
    this.#schedule();
  }

  /** Ends between two steps of a run. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#run;
  }

  /** Processes that were started together do not collect together. */
  #schedule(): void {
    if (this.#stopping.signal.aborted) return;
    const { retentionMillis, expiry } = this.#options;
    const shortest = Math.min(retentionMillis, expiry?.policy.keepForMillis ?? Infinity);
    const pause = Math.min(LONGEST_PAUSE, Math.max(SHORTEST_PAUSE, shortest));
    this.#timer = setTimeout(
      () => {
        this.#run = this.#collect().then(() => this.#schedule());
      },
      pause * (0.5 + Math.random()),
    ).unref();
  }

  async #collect(): Promise<void> {
    const collector = this.#collector();
    if (collector === null) return;
    const orphans = Date.now() - this.#orphansAt >= ORPHANS_MILLIS;
    if (orphans) this.#orphansAt = Date.now();
    const { retentionMillis, expiry } = this.#options;
    try {
      this.#options.done(
        await collector.collect({
          retentionMillis,
          ...(expiry !== undefined && { expiry }),
          olderThanMillis: ORPHANS_MILLIS,
          orphans,
          atOnce: 1,
          signal: this.#stopping.signal,
        }),
      );
    } catch (error) {
      this.#options.failed(error);
    }
  }
}
