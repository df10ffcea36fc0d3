/** What has been opened so far, so that it is closed again: in reverse order, each once. */
export class Opened {
  readonly #closers: (() => Promise<void> | void)[] = [];

  /** Remembers how to close something. */
  add(close: () => Promise<void> | void): void {
    this.#closers.push(close);
  }

  /** Closes everything; a close that fails does not keep the others from it. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'not everything could be closed');
  }
}
