/** Lets nothing through while somebody has still to look at what lies behind it. */
export class Gate {
  #look: (() => Promise<void>) | undefined;
  #looking: Promise<void> | undefined;
  #open = true;
  #turn = 0;

  /** Whether everything may pass now. */
  get isOpen(): boolean {
    return this.#open;
  }

  /** Shuts it until a look has come to its end; the same as before when none is given. */
  shut(look: (() => Promise<void>) | undefined = this.#look): void {
    this.#look = look;
    this.#turn += 1;
    this.#open = look === undefined;
  }

  /** Resolves when it is open; looks first if it is shut, and rejects as the look does. */
  async pass(): Promise<void> {
    while (!this.#open) await (this.#looking ??= this.#lookOnce());
  }

  async #lookOnce(): Promise<void> {
    const turn = this.#turn;
    try {
      await this.#look?.();
      // It may have been shut again meanwhile.
      if (turn === this.#turn) this.#open = true;
    } finally {
      this.#looking = undefined;
    }
  }
}
