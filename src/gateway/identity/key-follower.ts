import type { KeyFault, SharedKeySet } from './sealed-keys.ts';
import type { SharedKeys } from './shared-keys.ts';
import { isOutage } from '../../storage/storage-error.ts';
import { messageOf } from '../../store/store-error.ts';

/** Interval of looks at the number of the last change, in ms. */
export const KEY_FOLLOW_MILLIS = 200;
/** How long keys stay valid that cannot be compared with the store and the journal, in ms. */
export const KEY_GRACE_MILLIS = 5 * 60_000;
/** Shortest interval of comparisons of all keys in the store, in ms; each key makes it longer. */
const COMPARISON_MILLIS = 2000;
const COMPARISON_MILLIS_EACH = 3;
/** Interval of comparisons with the object beside the journal, in ms. */
const OBJECT_MILLIS = 60_000;
/** How long a fault that was repaired is reported, in ms. */
const REPORT_MILLIS = 10 * 60_000;

export interface KeyFollowerOptions {
  /** Opens the keys in the store; tried again until it succeeds. */
  readonly open: (onFault: (fault: KeyFault) => void) => Promise<SharedKeys>;
  /** Called once for each fault of the keys in the store. */
  readonly onFault: (fault: KeyFault) => void;
  /** Called when the keys cannot be compared, and with undefined when they can again. */
  readonly onLost: (reason: string | undefined) => void;
  /** Monotonic clock, in ms; that of the process when absent. */
  readonly now?: () => number;
}

/** Follows the keys that gateways share, so that a change at one is in force at all within a second. */
export class KeyFollower {
  readonly #options: KeyFollowerOptions;
  readonly #now: () => number;
  #keys: SharedKeys | undefined;
  #head: Uint8Array | undefined;
  #comparisonMillis = 0;
  #comparedAt = Number.NEGATIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #confirmedAt = Number.NEGATIVE_INFINITY;
  #lost: string | undefined;
  #fault: { readonly sentence: string; readonly at: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(options: KeyFollowerOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** The keys in the store, opened if they are not open yet. */
  async keys(): Promise<SharedKeys> {
    return (this.#keys ??= await this.#options.open((fault) => this.#report(fault)));
  }

  /** What is wrong with the keys in the store, or was in the last ten minutes; undefined if nothing. */
  fault(): string | undefined {
    if (this.#lost !== undefined) return this.#lost;
    const fault = this.#fault;
    return fault !== undefined && this.#now() - fault.at < REPORT_MILLIS
      ? fault.sentence
      : undefined;
  }

  /** Why keys are not accepted now; undefined while they are. */
  closed(): string | undefined {
    if (this.#now() - this.#confirmedAt < KEY_GRACE_MILLIS) return undefined;
    const why = this.#lost === undefined ? '' : `: ${this.#lost}`;
    return `API keys cannot be compared with those of the catalog${why}`;
  }

  /** Follows in the background until it is closed. */
  begin(): void {
    this.#running = this.step().then(() => {
      if (this.#closed) return;
      this.#timer = setTimeout(() => this.begin(), KEY_FOLLOW_MILLIS).unref();
    });
  }

  /** Looks once. Never rejects. */
  async step(): Promise<void> {
    try {
      await this.first();
    } catch (error) {
      this.#lose(messageOf(error));
    }
  }

  /** Looks once. @throws KeyFileError and the errors of store and storage if the keys cannot be compared. */
  async first(): Promise<void> {
    const began = this.#now();
    const keys = await this.keys();
    const head = await keys.head();
    const isNew = !equal(head, this.#head);
    const isDue = began - this.#lookedAt >= OBJECT_MILLIS;
    if (isNew || isDue || began - this.#comparedAt >= this.#comparisonMillis) {
      const set = await (isNew ? keys.look() : isDue ? lookIfPossible(keys) : keys.compare());
      if (isNew || isDue) this.#lookedAt = began;
      this.#head = head;
      this.#comparedAt = began;
      this.#comparisonMillis = comparisonMillis(set);
    }
    this.#confirmedAt = began;
    this.#lose(undefined);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #lose(reason: string | undefined): void {
    const isNew = (reason === undefined) !== (this.#lost === undefined);
    this.#lost = reason;
    if (isNew) this.#options.onLost(reason);
  }

  #report(fault: KeyFault): void {
    const cause =
      fault.kind === 'forged'
        ? 'somebody else can write to Redis'
        : 'Redis lost it, or somebody else can write to Redis';
    const sentence = `${fault.sentence}: ${cause}; the known keys stay in force`;
    this.#fault = { sentence, at: this.#now() };
    this.#options.onFault({ ...fault, sentence });
  }
}

/** Without the journal nothing can have been acknowledged of which Redis does not know. */
async function lookIfPossible(keys: SharedKeys): Promise<SharedKeySet | undefined> {
  try {
    return await keys.look();
  } catch (error) {
    if (!isOutage(error)) throw error;
    return keys.compare();
  }
}

function comparisonMillis(set: SharedKeySet | undefined): number {
  return Math.max(COMPARISON_MILLIS, COMPARISON_MILLIS_EACH * (set?.keys.size ?? 0));
}

function equal(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return Buffer.compare(one, other) === 0;
}
