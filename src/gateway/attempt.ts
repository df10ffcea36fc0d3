/** Shows that the attempt of a request is recorded, or is on its way. A class with a private field: nothing else passes for it. */
export class Attempt {
  readonly #decisionId: string;
  readonly #settled: Promise<void> | undefined;
  #failed = false;

  /** @param written Rejects when the record could not be written. */
  constructor(decisionId: string, written?: Promise<void>) {
    this.#decisionId = decisionId;
    this.#settled = written?.catch(() => {
      this.#failed = true;
    });
  }

  get decisionId(): string {
    return this.#decisionId;
  }

  /** Whether it is known that the record could not be written: nothing took effect then. */
  get failed(): boolean {
    return this.#failed;
  }

  /** Resolves when it is known whether the record was written; undefined where that is known at once. */
  get settled(): Promise<void> | undefined {
    return this.#settled;
  }
}
