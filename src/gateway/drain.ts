/** The state of a shutdown, and the requests in flight. */
export class Drain {
  #running = 0;
  #begun = 0;
  /** Called when no request is in flight any more. */
  #waiting: (() => void)[] = [];
  #stopping = false;
  #refusing = false;

  /** Whether the shutdown was announced: `/readyz` answers 503, and answers close their connections. */
  get stopping(): boolean {
    return this.#stopping;
  }

  /** Whether new requests are refused. */
  get refusing(): boolean {
    return this.#refusing;
  }

  /** How much runs. */
  get size(): number {
    return this.#running;
  }

  /** How many requests have begun since the start. */
  get begun(): number {
    return this.#begun;
  }

  /** Announces the shutdown; requests are still served. */
  begin(): void {
    this.#stopping = true;
  }

  /** Refuses new requests from now on. */
  refuse(): void {
    this.#stopping = true;
    this.#refusing = true;
  }

  /** Counts work as running until it settles. It must not reject. */
  track(work: Promise<void>): void {
    this.#running += 1;
    this.#begun += 1;
    void work.then(this.#ended);
  }

  /** Resolves when nothing runs any more. */
  async idle(): Promise<void> {
    while (this.#running > 0) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  readonly #ended = (): void => {
    this.#running -= 1;
    if (this.#running > 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  };
}
