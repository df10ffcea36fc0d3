/** State of a result: received pieces, then its end. */
type Ending = { readonly kind: 'complete' } | { readonly kind: 'failed'; readonly error: Error };

/** Pieces in progress, so that a thread works while the previous piece is sent. */
const AHEAD = 2;

interface Part {
  readonly bytes: Uint8Array;
  /** Whether it is the last one of its piece. */
  readonly isLast: boolean;
}

/** The streamed result of a task, with back pressure. */
export class TaskResult {
  readonly #more: () => void;
  readonly #cancel: () => void;
  #parts: Part[] = [];
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

  /** Adds a piece, which may have arrived in parts. */
  add(...parts: readonly Uint8Array[]): void {
    const last = parts.length - 1;
    this.#parts.push(...parts.map((bytes, at) => ({ bytes, isLast: at === last })));
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
    if (this.#parts.length === 0) this.#throwIfFailed();
  }

  /** The parts of the pieces, which can be read once. Leaving early cancels the task. */
  async *pieces(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        await this.#something();
        const part = this.#parts.shift();
        if (part === undefined) {
          this.#throwIfFailed();
          return;
        }
        if (part.isLast && this.#ending === undefined) this.#more();
        yield part.bytes;
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
    while (this.#parts.length === 0 && this.#ending === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #throwIfFailed(): void {
    if (this.#ending?.kind === 'failed') throw this.#ending.error;
  }
}
