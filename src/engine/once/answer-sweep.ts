import type { Store } from '../../store/store.ts';
import type { Committer } from '../catalog/records/commit-loop.ts';
import { ANSWERS, prefixRange } from '../catalog/records/keys.ts';
import { unchanged } from '../catalog/records/reader.ts';
import { decodeAnswer } from './answer-record.ts';

/** Answers that are looked at in one step. */
const PAGE = 100;
/** Between two steps, and the longest and the shortest time between two rounds. */
const STEP_MILLIS = 100;
const ROUND_MILLIS = 60_000;
const SHORTEST_MILLIS = 1000;

interface AnswerSweepOptions {
  readonly store: Pick<Store, 'range'>;
  readonly committer: Committer;
  /** How long answers are kept, in milliseconds. */
  readonly windowMillis: number;
  readonly clock: () => number;
}

/** Removes kept answers that count no more: some at a time, round and round. */
export class AnswerSweep {
  readonly #options: AnswerSweepOptions;
  #after: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: AnswerSweepOptions) {
    this.#options = options;
  }

  /** Goes on in the background until it is closed. */
  begin(): void {
    this.#later(this.#pause());
  }

  /**
   * Looks at the next few answers and removes those that count no more.
   * @returns How many it removed, and whether it came to the end.
   */
  async step(): Promise<{ readonly removed: number; readonly ended: boolean }> {
    const { store, committer, clock } = this.#options;
    const { start, end } = prefixRange(ANSWERS);
    const from = this.#after === undefined ? start : `${this.#after}\u0000`;
    const page = await store.range({ start: from, end, limit: PAGE });
    const ended = page.length < PAGE;
    this.#after = ended ? undefined : page.at(-1)?.key;
    const now = clock();
    const old = page.filter(({ value }) => decodeAnswer(value).expires <= now);
    if (old.length === 0) return { removed: 0, ended };
    // One that was renewed meanwhile makes the others wait for the next round.
    const writes = old.map(({ key }) => ({ key, value: null }));
    const { kind } = await committer.commit(old.map(unchanged), writes);
    return { removed: kind === 'committed' ? old.length : 0, ended };
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#working;
  }

  #pause(): number {
    const { windowMillis } = this.#options;
    return Math.max(SHORTEST_MILLIS, Math.min(windowMillis, ROUND_MILLIS));
  }

  #later(millis: number): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#working = this.#work();
    }, millis);
    this.#timer.unref();
  }

  /** Nothing is removed while the store is unavailable; requests are not affected. */
  async #work(): Promise<void> {
    const { ended } = await this.step().catch(() => ({ ended: true }));
    this.#later(ended ? this.#pause() : STEP_MILLIS);
  }
}
