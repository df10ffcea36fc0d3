/** Result of an item of a group. */
export type Settled<Outcome> =
  | { readonly kind: 'done'; readonly outcome: Outcome }
  | { readonly kind: 'failed'; readonly error: Error };

interface Waiting<Item, Outcome> {
  readonly item: Item;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Does one thing for many at once: items that come while a batch is in progress
 * wait, and go together in the next. So a flush of the disk is shared by all
 * who wait for one.
 */
export class Group<Item, Outcome> {
  readonly #run: (items: readonly Item[]) => Promise<readonly Settled<Outcome>[]>;
  readonly #limit: number;
  readonly #ready: (() => Promise<void>) | undefined;
  #waiting: Waiting<Item, Outcome>[] = [];
  #working: Promise<void> | undefined;

  /**
   * @param run Does a batch; settles each item in the order given, and does not throw. The batch
   *   is empty if all its items were withdrawn while `ready` was awaited.
   * @param limit The most items of a batch.
   * @param ready Awaited before each batch is formed. If it rejects, so do all items that wait.
   */
  constructor(
    run: (items: readonly Item[]) => Promise<readonly Settled<Outcome>[]>,
    limit: number,
    ready?: () => Promise<void>,
  ) {
    this.#run = run;
    this.#limit = limit;
    this.#ready = ready;
  }

  /** Number of items that wait for the next batch. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Puts an item into the next batch and waits for what becomes of it. */
  submit(item: Item): Promise<Outcome> {
    const outcome = new Promise<Outcome>((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
    });
    this.#working ??= this.#work();
    return outcome;
  }

  /**
   * Takes back an item that waits: it is in no batch, and its outcome stays open.
   * @returns False if its batch has begun.
   */
  withdraw(item: Item): boolean {
    const at = this.#waiting.findIndex((waiting) => waiting.item === item);
    if (at >= 0) this.#waiting.splice(at, 1);
    return at >= 0;
  }

  /** Resolves when nothing is in progress or waits. */
  async idle(): Promise<void> {
    while (this.#working !== undefined) await this.#working;
  }

  async #work(): Promise<void> {
    // Items that are submitted in this turn join the batch.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      try {
        await this.#ready?.();
      } catch (error) {
        this.#failAll(error);
        continue;
      }
      const batch = this.#waiting.splice(0, this.#limit);
      const settled = await this.#run(batch.map(({ item }) => item));
      for (const [index, waiting] of batch.entries()) settle(waiting, settled[index]!);
    }
    this.#working = undefined;
  }

  #failAll(thrown: unknown): void {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

function settle<Item, Outcome>(waiting: Waiting<Item, Outcome>, settled: Settled<Outcome>): void {
  if (settled.kind === 'done') waiting.resolve(settled.outcome);
  else waiting.reject(settled.error);
}
