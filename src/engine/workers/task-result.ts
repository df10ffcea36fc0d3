/** What is known of a result: pieces that came, then perhaps how it ended. */
type Ending = { readonly kind: 'complete' } | { readonly kind: 'failed'; readonly error: Error };

/** How many pieces may be in progress, so that a thread works while the one before is sent. */
const AHEAD = 2;

/** The result of a task while it comes: bytes in pieces, as fast as they are taken. */
export class TaskResult {
  readonly #more: () => void;
  readonly #cancel: () => void;
  #pieces: Uint8Array[] = [];
  #ending: Ending | undefined;
  #wake: () => void = () => undefined;
  #onEnd: () => void = () => undefined;
  /** Processor time that it took, in ms; known once it has ended. */
  spent = 0;

  /**
   * @param more Asks the thread for one piece more.
   * @param cancel Tells the thread that nobody waits any more.
   */
  constructor(more: () => void, cancel: () => void) {
    this.#more = more;
    this.#cancel = cancel;
    for (let piece = 0; piece < AHEAD; piece++) more();
  }

  add(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.#wake();
  }

  end(): void {
    this.#end({ kind: 'complete' });
  }

  fail(error: Error): void {
    this.#end({ kind: 'failed', error });
  }

  /** Has this called once the task has ended. */
  whenEnded(work: () => void): void {
    this.#onEnd = work;
  }

  /** Stops the task, unless it has ended. */
  cancel(error: Error): void {
    if (this.#ending !== undefined) return;
    this.#cancel();
    this.fail(error);
  }

  /** Resolves with the first piece; throws what the task failed with before. */
  async begun(): Promise<void> {
    await this.#something();
    if (this.#pieces.length === 0) this.#throwIfFailed();
  }

  /** The pieces, once. Who leaves early cancels the task. */
  async *pieces(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        await this.#something();
        const piece = this.#pieces.shift();
        if (piece === undefined) {
          this.#throwIfFailed();
          return;
        }
        this.#more();
        yield piece;
      }
    } finally {
      this.cancel(new Error('the result is not read any more'));
    }
  }

  #end(ending: Ending): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    this.#onEnd();
    this.#wake();
  }

  async #something(): Promise<void> {
    while (this.#pieces.length === 0 && this.#ending === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #throwIfFailed(): void {
    if (this.#ending?.kind === 'failed') throw this.#ending.error;
  }
}
