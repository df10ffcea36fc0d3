import type { ByteStream } from '../../../protocol/backend.ts';
import type { MaybePromise } from '../../../protocol/maybe-promise.ts';
import type { AnswerMemory, MemoryClaim, Releasable } from '../../format/memory/answer-memory.ts';
import { ANSWER_PIECE_BYTES } from '../../format/memory/answer-pieces.ts';

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
  /** Called before the work is ended, with what was sent of the portion. */
  interrupted?(sent: Portion): void;
  /** Called with a portion whose bytes are used no more. Not called if its connection was cut. */
  done?(portion: Portion): void;
  /** Called with bytes that were handed out in place, once their connection has taken them. */
  taken?(piece: Uint8Array): void;
  /** Ends its work, also if nothing was read. */
  close(): Promise<void>;
  /** Whether `from` can be called again, at the position that was reached. */
  readonly isRepeatable: boolean;
  /** Whether that costs no more than the batch at that position, so that it is done for a short wait. */
  readonly isSeekable?: boolean;
}

/** How an answer takes memory. */
interface BodyMemory extends MemoryClaim {
  /** Shared by answers in flight; absent if pieces are copied before the next one is read. */
  readonly memory?: AnswerMemory | undefined;
  /** Bytes to take before a portion is produced. They were taken for the first one. */
  readonly reserved: number;
  /** Whether the work holds its bytes until it ends or is released, and not only those of a portion. */
  readonly isKept: boolean;
  /** Whether memory belongs to the cache, so that the answer does not hold it. */
  readonly isCached?: ((memory: ArrayBufferLike) => boolean) | undefined;
}

/** Larger memory that is not cached is copied: a stalled reader would hold it. */
const MOST_LENT = 2 ** 24;

/** A portion whose memory may be lent to the connection. */
interface LentPortion {
  readonly pieces: Portion;
  /** Number of views that the connection has not returned. */
  views: number;
  isDropped: boolean;
}

const NO_PORTION: LentPortion = { pieces: [], views: 0, isDropped: true };

/**
 * The body of an answer of rows. Its pieces are views of large buffers and copies of small ones. Views are bounded
 * for all answers together; beyond that, all bytes are copied, so that bytes in flight hold no batch. While its
 * reader does not read, it holds a position and the views only; the rest is produced again.
 */
export class RepeatableBody implements ByteStream, Releasable {
  readonly length: number | undefined;
  readonly #source: PortionSource;
  readonly #use: BodyMemory;
  readonly #memory: AnswerMemory | undefined;
  #portions: AsyncGenerator<Portion> | undefined;
  #lent = NO_PORTION;
  /** Place in the portion: the next byte of one of its pieces. */
  #index = 0;
  #offset = 0;
  #position = 0;
  /** Bytes taken of the memory. */
  #share: number;
  /** Views that its connection has not returned, and the portion of each. */
  readonly #views = new Map<Uint8Array, LentPortion>();
  #ended = false;
  #failure: unknown;

  constructor(source: PortionSource, use: BodyMemory, length?: number) {
    this.#source = source;
    this.#use = use;
    this.#memory = use.memory;
    this.#share = use.reserved;
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

  get #portion(): Portion {
    return this.#lent.pieces;
  }

  sent(piece: Uint8Array): void {
    // A cut connection returns nothing: its views were counted as returned, and one must not be taken for a copy.
    if (this.#failure !== undefined) return;
    const lent = this.#views.get(piece);
    if (lent === undefined) {
      this.#memory?.pieces.giveCopy(piece);
      return;
    }
    this.#views.delete(piece);
    this.#memory?.pieces.giveView(piece);
    this.#source.taken?.(piece);
    lent.views -= 1;
    this.#finish(lent);
  }

  stalled(): void {
    if (this.#source.isRepeatable && this.#portions !== undefined) this.#memory?.stall(this);
  }

  release(): void {
    this.#interrupt();
    this.#hold(0);
  }

  /** Ends the answer. */
  async close(): Promise<void> {
    this.#ended = true;
    this.#memory?.resume(this);
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
    // The connection is closed, so its pieces are not returned.
    for (const view of this.#views.keys()) this.#memory?.pieces.giveView(view);
    this.#views.clear();
    this.close().catch(() => undefined);
  }

  async #next(): Promise<Uint8Array | undefined> {
    this.#memory?.resume(this);
    try {
      while (this.#index >= this.#portion.length) {
        const more = await this.#advance();
        if (this.#failure !== undefined) throw this.#failure;
        if (!more) return undefined;
      }
      return this.#view() ?? this.#copy();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Produces the next portion. Returns whether there is one. */
  async #advance(): Promise<boolean> {
    const reserving = this.#reserve();
    if (reserving === undefined) this.#drop();
    else await this.#waitFor(reserving);
    if (this.#ended) {
      this.#hold(0);
      return false;
    }
    this.#portions ??= this.#source.from(this.#position);
    const next = await this.#portions.next();
    if (this.#ended || next.done === true) {
      await this.close();
      return false;
    }
    this.#lent = { pieces: next.value, views: 0, isDropped: false };
    const bytes = next.value.reduce((sum, piece) => sum + this.#ownBytes(piece), 0);
    this.#hold(this.#use.isKept ? Math.max(bytes, this.#use.reserved) : bytes);
    return true;
  }

  /** Takes memory for the next portion. What is held is returned first: answers that wait hold nothing. */
  #reserve(): MaybePromise<void> {
    const { reserved } = this.#use;
    if (this.#share >= reserved) return;
    this.#hold(0);
    const taking = this.#memory?.take(reserved, this.#use);
    if (taking === undefined) {
      this.#share = reserved;
      return;
    }
    return taking.then(() => {
      this.#share = reserved;
    });
  }

  /** Waits for memory. The work is interrupted if that is cheap: it would hold the batch that was sent. */
  async #waitFor(reserving: Promise<void>): Promise<void> {
    if (this.#source.isSeekable === true) this.#interrupt();
    else this.#drop();
    await reserving;
  }

  /** Ends the work at the position that was reached. */
  #interrupt(): void {
    const portions = this.#portions;
    this.#portions = undefined;
    this.#source.interrupted?.(this.#sentOfPortion());
    this.#drop();
    portions?.return(undefined).catch(() => undefined);
  }

  #ownBytes({ buffer, byteLength }: Uint8Array): number {
    return this.#use.isCached?.(buffer) === true ? 0 : byteLength;
  }

  /** The next bytes of the portion in place; undefined if they must be copied. */
  #view(): Uint8Array | undefined {
    const from = this.#portion[this.#index];
    if (from === undefined || !this.#isViewed(from)) return undefined;
    if (this.#memory?.pieces.view(from.buffer) === false) return undefined;
    const view = from.subarray(this.#offset);
    if (this.#memory !== undefined) {
      this.#views.set(view, this.#lent);
      this.#lent.views += 1;
    }
    this.#moveBy(view.byteLength, from);
    return view;
  }

  /** Whether the rest of some bytes may be handed out in place, and are enough. */
  #isViewed({ buffer, byteLength }: Uint8Array): boolean {
    if (byteLength - this.#offset < ANSWER_PIECE_BYTES) return false;
    if (this.#memory === undefined || buffer.byteLength <= MOST_LENT) return true;
    return this.#use.isCached?.(buffer) === true;
  }

  /** A copy of the next bytes of the portion. */
  #copy(): Uint8Array {
    const piece = this.#memory?.pieces.copy() ?? new Uint8Array(ANSWER_PIECE_BYTES);
    let filled = 0;
    for (
      let from = this.#portion[this.#index];
      from !== undefined && filled < ANSWER_PIECE_BYTES;
      from = this.#portion[this.#index]
    ) {
      if (filled > 0 && this.#isViewed(from)) break;
      const part = from.subarray(this.#offset, this.#offset + ANSWER_PIECE_BYTES - filled);
      piece.set(part, filled);
      filled += part.byteLength;
      this.#moveBy(part.byteLength, from);
    }
    return filled === ANSWER_PIECE_BYTES ? piece : piece.subarray(0, filled);
  }

  #moveBy(bytes: number, from: Uint8Array): void {
    this.#position += bytes;
    this.#offset += bytes;
    if (this.#offset < from.byteLength) return;
    this.#offset = 0;
    this.#index++;
  }

  /** The bytes of the current portion that were handed out. */
  #sentOfPortion(): Portion {
    const begun = this.#portion[this.#index]?.subarray(0, this.#offset);
    return [...this.#portion.slice(0, this.#index), ...(begun === undefined ? [] : [begun])];
  }

  /** Drops the current portion. Its memory is returned when its connection has taken all of it. */
  #drop(): void {
    const lent = this.#lent;
    this.#lent = NO_PORTION;
    this.#index = 0;
    this.#offset = 0;
    if (lent.isDropped) return;
    lent.isDropped = true;
    this.#finish(lent);
  }

  #finish({ pieces, views, isDropped }: LentPortion): void {
    if (isDropped && views === 0) this.#source.done?.(pieces);
  }

  #hold(bytes: number): void {
    const more = bytes - this.#share;
    this.#share = bytes;
    if (more !== 0) this.#memory?.adjust(more, this.#use);
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

/** How work takes memory that it reserves before it begins. */
type ReservedMemory = Omit<BodyMemory, 'isCached'> & { readonly memory: AnswerMemory };

/**
 * The body of an answer whose work begins once its memory is free.
 * @throws what the work throws as it begins; its memory is returned then
 */
export async function reservedBody(
  begin: () => Promise<PortionSource>,
  use: ReservedMemory,
): Promise<RepeatableBody> {
  const { memory, reserved } = use;
  const taken = memory.take(reserved, use);
  if (taken !== undefined) await taken;
  try {
    return new RepeatableBody(await begin(), use);
  } catch (error) {
    memory.adjust(-reserved, use);
    throw error;
  }
}

/**
 * The body of an answer whose bytes are produced by work that can be repeated, as on a thread. The
 * work begins once its memory is free.
 */
export function repeatedAnswer(
  run: () => Promise<AsyncGenerator<Uint8Array>>,
  use: Omit<ReservedMemory, 'isKept'>,
): Promise<RepeatableBody> {
  return reservedBody(async () => repeatedWork(run, await run()), { ...use, isKept: true });
}

function repeatedWork(
  run: () => Promise<AsyncGenerator<Uint8Array>>,
  begun: AsyncGenerator<Uint8Array>,
): PortionSource {
  let first: AsyncGenerator<Uint8Array> | undefined = begun;
  return {
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
}
