/** Flushes that are in progress while other work continues. */
export class Flushes {
  readonly #under = new Set<Promise<void>>();
  #failed: { readonly error: unknown } | undefined;

  add(flush: Promise<void>): void {
    const ended = flush.then(
      () => {
        this.#under.delete(ended);
      },
      (error: unknown) => {
        this.#under.delete(ended);
        this.#failed ??= { error };
      },
    );
    this.#under.add(ended);
  }

  /**
   * Resolves when everything that was added is on stable storage.
   * @throws the error of the first flush that failed, at each call, once no flush is in progress.
   */
  async settled(): Promise<void> {
    while (this.#under.size > 0) await Promise.all(this.#under);
    if (this.#failed !== undefined) throw this.#failed.error;
  }
}
