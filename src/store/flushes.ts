/** What is on its way to stable storage while other work goes on. */
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
   * @throws what the first that failed threw, whenever it is asked; nothing is under way any more then.
   */
  async settled(): Promise<void> {
    while (this.#under.size > 0) await Promise.all(this.#under);
    if (this.#failed !== undefined) throw this.#failed.error;
  }
}
