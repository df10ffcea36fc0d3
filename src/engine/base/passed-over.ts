/** An item that work on many items could not be done for. */
export interface Failure {
  /** The name of the item. */
  readonly name: string;
  /** The message of its error. */
  readonly reason: string;
}

/** Work on many items, such as all tables: an item that fails is passed over and named, and the others get theirs. */
export class PassedOver {
  readonly #failures: Failure[] = [];

  get failures(): readonly Failure[] {
    return this.#failures;
  }

  /** The result of the work on one item; undefined if it failed. Does not reject. */
  async around<Result>(name: string, work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#failures.push({ name, reason: error instanceof Error ? error.message : String(error) });
      return undefined;
    }
  }
}

/** A failure as a sentence. */
export function failureText({ name, reason }: Failure): string {
  return `${name} is passed over: ${reason}`;
}
