/** State of a result: received pieces, then its end. */
type Ending = { readonly kind: 'complete' } | { readonly kind: 'failed'; readonly error: Error };

/** Pieces in progress, so that a thread works while the previous piece is sent. */
const AHEAD = 2;

/** The streamed result of a task, with back pressure. */
export class TaskResult {
  readonly #more: () => void;
  readonly #cancel: () => void;
  #pieces: Uint8Array[] = [];
  #ending: Ending | undefined;
  #wake: () => void = () => undefined;
  #onEnd: () => void = () => undefined;
  /** Processor time in ms; available at the end. */
  spent = 0;

  /** @param more Requests one more piece. @param cancel Cancels the task. */
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

  /** Registers a callback for the end of the task. */
  whenEnded(work: () => void): void {
    this.#onEnd = work;
  }

  /** Stops the task, unless it has ended. */
  cancel(error: Error): void {
    if (this.#ending !== undefined) return;
    this.#cancel();
    this.fail(error);
  }

  /** Waits for the first piece; throws if the task failed before it. */
  async begun(): Promise<void> {
    await this.#something();
    if (this.#pieces.length === 0) this.#throwIfFailed();
  }

  /** The pieces, which can be read once. Leaving early cancels the task. */
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
