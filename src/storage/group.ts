/** How an item of a group came out. */
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
  #waiting: Waiting<Item, Outcome>[] = [];
  #working: Promise<void> | undefined;

  /**
   * @param run Does a batch; settles each item in the order given, and does not throw.
   * @param limit The most items of a batch.
   */
  constructor(
    run: (items: readonly Item[]) => Promise<readonly Settled<Outcome>[]>,
    limit: number,
  ) {
    this.#run = run;
    this.#limit = limit;
  }

  /** Puts an item into the next batch and waits for what becomes of it. */
  submit(item: Item): Promise<Outcome> {
    const outcome = new Promise<Outcome>((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
    });
    this.#working ??= this.#work();
    return outcome;
  }

  /** Resolves when nothing is in progress or waits. */
  async idle(): Promise<void> {
    while (this.#working !== undefined) await this.#working;
  }

  async #work(): Promise<void> {
    // What else is submitted in this turn belongs to the same batch.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#limit);
      const settled = await this.#run(batch.map(({ item }) => item));
      for (const [index, waiting] of batch.entries()) settle(waiting, settled[index]!);
    }
    this.#working = undefined;
  }
}

function settle<Item, Outcome>(waiting: Waiting<Item, Outcome>, settled: Settled<Outcome>): void {
  if (settled.kind === 'done') waiting.resolve(settled.outcome);
  else waiting.reject(settled.error);
}
