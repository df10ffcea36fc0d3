/** Lets one pass for each time that it was opened. */
export class Turnstile {
  #open = 0;
  #waiting: (() => void) | undefined;

  open(): void {
    if (this.#waiting === undefined) {
      this.#open++;
      return;
    }
    const pass = this.#waiting;
    this.#waiting = undefined;
    pass();
  }

  /** Resolves when it is open. One can wait at a time. */
  async pass(): Promise<void> {
    if (this.#open > 0) {
      this.#open--;
      return;
    }
    await new Promise<void>((resolve) => {
      this.#waiting = resolve;
    });
  }
}
