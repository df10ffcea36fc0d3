/** Whether the gateway is stopping, and what still runs. */
export class Drain {
  readonly #running = new Set<Promise<void>>();
  #stopping = false;

  get stopping(): boolean {
    return this.#stopping;
  }

  /** How much runs. */
  get size(): number {
    return this.#running.size;
  }

  begin(): void {
    this.#stopping = true;
  }

  /** Counts work as running until it settles. It must not reject. */
  track(work: Promise<void>): void {
    this.#running.add(work);
    void work.then(() => this.#running.delete(work));
  }

  /** Resolves when nothing runs any more. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }
}
