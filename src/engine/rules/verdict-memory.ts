/** How many verdicts are remembered at most. */
const MOST = 10_000;

interface Remembered<Verdict> {
  readonly verdict: Promise<Verdict>;
  /** Milliseconds since 1970. */
  until: number;
}

/**
 * What became of commits, for a while: whoever tries the same commit again is told
 * the same, and nobody is asked about it twice. One that asks while the answer is on
 * its way gets that answer.
 */
export class VerdictMemory<Verdict> {
  readonly #known = new Map<string, Remembered<Verdict>>();
  readonly #keepMillis: number;
  readonly #clock: () => number;

  constructor(keepMillis: number, clock: () => number = Date.now) {
    this.#keepMillis = keepMillis;
    this.#clock = clock;
  }

  /** The verdict on a commit that was judged lately. */
  known(key: string): Promise<Verdict> | undefined {
    const found = this.#known.get(key);
    if (found === undefined || found.until > this.#clock()) return found?.verdict;
    this.#known.delete(key);
    return undefined;
  }

  /** The verdict on a commit; it is asked for once. A failure is not remembered. */
  ask(key: string, judge: () => Promise<Verdict>): Promise<Verdict> {
    const known = this.known(key);
    if (known !== undefined) return known;
    const verdict = judge();
    const entry = { verdict, until: Infinity };
    this.#keep(key, entry);
    verdict.then(
      () => (entry.until = this.#clock() + this.#keepMillis),
      () => this.#known.delete(key),
    );
    return verdict;
  }

  #keep(key: string, entry: Remembered<Verdict>): void {
    this.#known.set(key, entry);
    const now = this.#clock();
    for (const [old, { until }] of this.#known) {
      if (until > now && this.#known.size <= MOST) break;
      this.#known.delete(old);
    }
  }
}
