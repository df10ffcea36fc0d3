/** Whether the gateway is stopping, and what still runs. */
export class Drain {
  #running = 0;
  /** Who waits until nothing runs any more. */
  #waiting: (() => void)[] = [];
  #stopping = false;

  get stopping(): boolean {
    return this.#stopping;
  }

  /** How much runs. */
  get size(): number {
    return this.#running;
  }

  begin(): void {
    this.#stopping = true;
  }

  /** Counts work as running until it settles. It must not reject. */
  track(work: Promise<void>): void {
    this.#running += 1;
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
