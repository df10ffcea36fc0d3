/** Shows that the attempt of a request was recorded. A class with a private field: nothing else passes for it. */
export class Attempt {
  readonly #decisionId: string;

  constructor(decisionId: string) {
    this.#decisionId = decisionId;
  }

  get decisionId(): string {
    return this.#decisionId;
  }
}
