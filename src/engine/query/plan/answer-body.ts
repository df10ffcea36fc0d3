import type { ByteStream } from '../../../protocol/backend.ts';
import {
  ANSWER_PIECE_BYTES,
  type AnswerMemory,
  type Releasable,
} from '../../format/memory/answer-memory.ts';

/** Bytes that are produced together, such as those of one batch. */
export type Portion = readonly Uint8Array[];

/** How much of an answer was sent. */
export interface SentRows {
  readonly batches: number;
  readonly rows: number;
}

/** Produces the bytes of an answer. */
export interface PortionSource {
  /**
   * The bytes from a position on.
   * @throws Error if they cannot be produced again, or have changed
   */
  from(position: number): AsyncGenerator<Portion>;
  /** Called before a portion is dropped that was sent in part, with that part. */
  interrupted?(sent: Portion): void;
  /** Called with a portion whose bytes are used no more. */
  done?(portion: Portion): void;
  /** Ends its work, also if nothing was read. */
  close(): Promise<void>;
  /** Whether `from` can be called again, at the position that was reached. */
  readonly isRepeatable: boolean;
}

/** Memory that an answer takes before the size of its portions is known, in bytes. */
export const FIRST_BYTES = 2 ** 22;

/**
 * The body of an answer of rows. Its pieces are copies, so that bytes in flight hold no batch. While
 * its reader does not read, it holds a position only; the rest is produced again.
 */
export class RepeatableBody implements ByteStream, Releasable {
  readonly length: number | undefined;
  readonly #source: PortionSource;
  readonly #memory: AnswerMemory;
  #portions: AsyncGenerator<Portion> | undefined;
  #portion: Portion = [];
  /** Place in the portion: the next byte of one of its pieces. */
  #index = 0;
  #offset = 0;
  #position = 0;
  /** Bytes taken of the memory; 0 while nothing is held. */
  #share = 0;
  /** Size of the latest portion. */
  #portionBytes = FIRST_BYTES;
  #ended = false;
  #failure: unknown;

  /** @param share Bytes that were taken of the memory for the first portion. */
  constructor(
    source: PortionSource,
    memory: AnswerMemory,
    { length, share }: { readonly length?: number | undefined; readonly share: number },
  ) {
    this.#source = source;
    this.#memory = memory;
    this.#share = share;
    this.length = length;
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: async () => {
        const value = await this.#next();
        return value === undefined ? { done: true, value } : { done: false, value };
      },
      return: async () => {
        await this.close();
        return { done: true, value: undefined };
      },
    };
  }

  sent(piece: Uint8Array): void {
    this.#memory.givePiece(piece);
  }

  stalled(): void {
    if (this.#source.isRepeatable && this.#portions !== undefined) this.#memory.stall(this);
  }

  release(): void {
    const portions = this.#portions;
    this.#portions = undefined;
    this.#source.interrupted?.(this.#sentOfPortion());
    this.#drop();
    this.#hold(0);
    portions?.return(undefined).catch(() => undefined);
  }

  /** Ends the answer. */
  async close(): Promise<void> {
    this.#ended = true;
    this.#memory.resume(this);
    const portions = this.#portions;
    this.#portions = undefined;
    this.#drop();
    this.#hold(0);
    await portions?.return(undefined);
    await this.#source.close();
  }

  /** Ends the answer so that it cannot look complete: reading it throws the error. */
  abort(reason: unknown): void {
    this.#failure ??= reason;
    this.close().catch(() => undefined);
  }

  async #next(): Promise<Uint8Array | undefined> {
    this.#memory.resume(this);
    try {
      while (this.#index >= this.#portion.length) {
        this.#drop();
        const more = await this.#advance();
        if (this.#failure !== undefined) throw this.#failure;
        if (!more) return undefined;
      }
      return this.#fill();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Produces the next portion. Returns whether there is one. */
  async #advance(): Promise<boolean> {
    if (this.#share === 0) {
      await this.#memory.take(this.#portionBytes);
      this.#share = this.#portionBytes;
      if (this.#ended) this.#hold(0);
    }
    if (this.#ended) return false;
    this.#portions ??= this.#source.from(this.#position);
    const next = await this.#portions.next();
    if (this.#ended || next.done === true) {
      await this.close();
      return false;
    }
    this.#portion = next.value;
    this.#portionBytes = next.value.reduce((sum, { byteLength }) => sum + byteLength, 0);
    this.#hold(this.#portionBytes);
    return true;
  }

  /** Copies the next bytes of the portion. */
  #fill(): Uint8Array {
    const piece = this.#memory.piece();
    let filled = 0;
    for (
      let from = this.#portion[this.#index];
      from !== undefined && filled < ANSWER_PIECE_BYTES;
    ) {
      const part = from.subarray(this.#offset, this.#offset + ANSWER_PIECE_BYTES - filled);
      piece.set(part, filled);
      filled += part.byteLength;
      this.#offset += part.byteLength;
      if (this.#offset < from.byteLength) break;
      this.#offset = 0;
      from = this.#portion[++this.#index];
    }
    this.#position += filled;
    return filled === ANSWER_PIECE_BYTES ? piece : piece.subarray(0, filled);
  }

  /** The bytes of the current portion that were handed out. */
  #sentOfPortion(): Portion {
    const begun = this.#portion[this.#index]?.subarray(0, this.#offset);
    return [...this.#portion.slice(0, this.#index), ...(begun === undefined ? [] : [begun])];
  }

  /** Drops the current portion. */
  #drop(): void {
    const portion = this.#portion;
    this.#portion = [];
    this.#index = 0;
    this.#offset = 0;
    if (portion.length > 0) this.#source.done?.(portion);
  }

  #hold(bytes: number): void {
    const more = bytes - this.#share;
    this.#share = bytes;
    this.#memory.adjust(more);
  }
}

/** The bytes before a position of a portion. */
export function before(portion: Portion, position: number): Portion {
  const sent: Uint8Array[] = [];
  let left = position;
  for (const piece of portion) {
    if (left > 0) sent.push(piece.subarray(0, left));
    left = Math.max(0, left - piece.byteLength);
  }
  return sent;
}

/** The bytes behind a position of a portion. */
export function behind(portion: Portion, position: number): Portion {
  const rest: Uint8Array[] = [];
  let skip = position;
  for (const piece of portion) {
    if (skip < piece.byteLength) rest.push(piece.subarray(skip));
    skip = Math.max(0, skip - piece.byteLength);
  }
  return rest;
}

/** The body of an answer whose bytes are produced by work that can be repeated, as on a thread. */
export async function repeatedAnswer(
  run: () => Promise<AsyncGenerator<Uint8Array>>,
  memory: AnswerMemory,
): Promise<RepeatableBody> {
  let first: AsyncGenerator<Uint8Array> | undefined = await run();
  const source: PortionSource = {
    isRepeatable: true,
    async *from(position) {
      const bytes = first ?? (await run());
      first = undefined;
      let skip = position;
      for await (const piece of bytes) {
        if (skip < piece.byteLength) yield behind([piece], skip);
        skip = Math.max(0, skip - piece.byteLength);
      }
    },
    close: async () => {
      await first?.return(undefined);
    },
  };
  memory.adjust(FIRST_BYTES);
  return new RepeatableBody(source, memory, { share: FIRST_BYTES });
}
