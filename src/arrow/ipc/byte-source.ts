import { ArrowError, corrupt } from '../arrow-error.ts';

const nothing = new Uint8Array(0);

type Came = (bytes: number) => void | Promise<void>;
type Take = (length: number) => Uint8Array<ArrayBuffer>;

/** Reads exact numbers of bytes from chunks of any size, holding one chunk at a time. */
export class ByteSource {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #chunk: Uint8Array = nothing;
  #read = 0;
  #ended = false;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  /** Bytes handed out so far. */
  get bytesRead(): number {
    return this.#read;
  }

  /**
   * The next `length` bytes in a buffer of their own, or `undefined` if the
   * input ends exactly here. Throws `corrupt` if it ends in between.
   * @param came Called with bytes before they are kept; waited for.
   * @param take Gives the buffer; memory of its own unless given.
   */
  async read(
    length: number,
    what: string,
    came?: Came,
    take: Take = allocate,
  ): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (length > 0 && !(await this.#fill())) return undefined;
    const result = take(length);
    let filled = 0;
    while (filled < length) {
      if (!(await this.#fill())) {
        throw corrupt(`The stream ends after ${filled} of the ${length} bytes of ${what}.`);
      }
      const part = this.#chunk.subarray(0, length - filled);
      const wait = came?.(part.length);
      if (wait !== undefined) await wait;
      result.set(part, filled);
      filled += part.length;
      this.#read += part.length;
      this.#chunk = this.#chunk.subarray(part.length);
    }
    return result;
  }

  /** The next `length` bytes; throws `corrupt` if the input ends before. */
  async need(
    length: number,
    what: string,
    came?: Came,
    take?: Take,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = await this.read(length, what, came, take);
    if (bytes === undefined) throw corrupt(`The stream ends before ${what}.`);
    return bytes;
  }

  /** Whether all input was handed out. */
  async atEnd(): Promise<boolean> {
    return !(await this.#fill());
  }

  /** Reads to the end of the input and drops it. */
  async drain(): Promise<void> {
    while (await this.#fill()) {
      this.#read += this.#chunk.length;
      this.#chunk = nothing;
    }
  }

  /** Tells the source that no more is wanted. */
  async close(): Promise<void> {
    this.#chunk = nothing;
    if (!this.#ended) await this.#chunks.return?.();
    this.#ended = true;
  }

  async #fill(): Promise<boolean> {
    while (this.#chunk.length === 0 && !this.#ended) {
      const next = await this.#chunks.next();
      if (next.done === true) this.#ended = true;
      else this.#chunk = next.value;
    }
    return this.#chunk.length > 0;
  }
}

/** A buffer of its own; pages of it are only taken from the machine when they are written. */
export function allocate(length: number): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(length);
  } catch {
    throw new ArrowError('limit', `There is no memory for a buffer of ${length} bytes.`);
  }
}
