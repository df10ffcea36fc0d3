/** Holds operations back until a check has succeeded. */
export class Gate {
  #look: (() => Promise<void>) | undefined;
  #looking: Promise<void> | undefined;
  #open = true;
  #turn = 0;

  /** Whether operations may pass now. */
  get isOpen(): boolean {
    return this.#open;
  }

  /** Shuts the gate until a check succeeds: the one given, or the last one. */
  shut(look: (() => Promise<void>) | undefined = this.#look): void {
    this.#look = look;
    this.#turn += 1;
    this.#open = look === undefined;
  }

  /** Resolves when the gate is open. Runs the check if it is shut, and rejects if the check rejects. */
  async pass(): Promise<void> {
    while (!this.#open) await (this.#looking ??= this.#lookOnce());
  }

  async #lookOnce(): Promise<void> {
    const turn = this.#turn;
    try {
      await this.#look?.();
      // The gate may have been shut again meanwhile.
      if (turn === this.#turn) this.#open = true;
    } finally {
      this.#looking = undefined;
    }
  }
}
