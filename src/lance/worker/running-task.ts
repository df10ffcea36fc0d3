import type { SharedBytes } from '../../engine/versions/managed/lance-library.ts';
import type { FromLibrary, VersionQuestion, VersionReply } from '../wire/messages.ts';
import { RESULT_PIECE_BYTES } from '../wire/piece-memory.ts';
import { portionsOf } from '../wire/portions.ts';
import { readShared } from './shared-rows.ts';

/** A piece of less waits for the next batch: each piece is a round trip. */
const ENOUGH_BYTES = 2 ** 18;

type Send = (message: FromLibrary, ...parts: readonly Uint8Array[]) => void;

/** Ends the wait for the library's work: it was cancelled, or its time is spent. */
class TaskEnded extends Error {}

/**
 * A task in progress: its pieces are sent as they are requested, and its time counts while the
 * library works for it.
 */
export class RunningTask {
  readonly #id: number;
  readonly #send: Send;
  /** Time that is left, in ms. */
  #left: number;
  #spent = 0;
  #requested = 0;
  #wake: () => void = () => undefined;
  /** End the waits in progress. */
  readonly #waits = new Set<(reason: Error) => void>();
  #isEnded = false;
  /** Questions that are not answered, by their number. */
  readonly #calls = new Map<number, (reply: VersionReply) => void>();
  #nextCall = 0;
  /** Gets the rows of a change. */
  readonly #rows: Buffer;
  #received = 0;
  #haveRows: () => void = () => undefined;
  readonly #allRows = new Promise<void>((resolve) => {
    this.#haveRows = resolve;
  });
  /** The end of the library's current work, which cannot be stopped. */
  #work: Promise<void> = Promise.resolve();

  /** @param rowBytes Bytes of the rows of a change. */
  constructor(id: number, millis: number | null, send: Send, rowBytes = 0) {
    this.#id = id;
    this.#send = send;
    this.#left = millis ?? Infinity;
    this.#rows = Buffer.allocUnsafeSlow(rowBytes);
  }

  /** Requests one more piece. */
  more(): void {
    this.#requested++;
    this.#wake();
  }

  /** Takes a piece of the rows of a change. */
  take(piece: Uint8Array): void {
    this.#rows.set(piece, this.#received);
    this.#received += piece.byteLength;
    if (this.#received === this.#rows.byteLength) this.#haveRows();
  }

  /** Reads the rows of a change where they lie. Asks for pieces where that fails, whatever the reason. */
  async readRows(shared: SharedBytes): Promise<void> {
    const isRead = await readShared(shared, this.#rows, () => this.#isEnded);
    if (this.#isEnded) return;
    if (isRead) this.#haveRows();
    else this.#send({ kind: 'unread', id: this.#id });
  }

  /** All rows of a change. */
  async rows(): Promise<Uint8Array> {
    await this.#unlessEnded(this.#allRows);
    return this.#rows;
  }

  /** Asks the catalog of the gateway; refused once the task has ended. */
  async ask(question: VersionQuestion): Promise<VersionReply> {
    if (this.#isEnded) return { status: 503, value: { error: 'the request has ended', code: 17 } };
    const call = this.#nextCall++;
    return new Promise((resolve) => {
      this.#calls.set(call, resolve);
      this.#send({ kind: 'ask', id: this.#id, call, question });
    });
  }

  told(call: number, reply: VersionReply): void {
    this.#calls.get(call)?.(reply);
    this.#calls.delete(call);
  }

  cancel(): void {
    this.#isEnded = true;
    for (const end of this.#waits) end(new TaskEnded());
    this.#wake();
    for (const call of this.#calls.keys()) this.told(call, { status: 503, value: {} });
  }

  /** Waits for work of the library, as long as the task has time. */
  async until<Result>(work: Promise<Result>): Promise<Result> {
    const nothing = (): void => undefined;
    this.#work = work.then(nothing, nothing);
    const since = performance.now();
    const timer =
      this.#left === Infinity ? undefined : setTimeout(() => this.#overTime(), this.#left);
    try {
      return await this.#unlessEnded(work);
    } finally {
      clearTimeout(timer);
      const spent = performance.now() - since;
      this.#spent += spent;
      this.#left -= spent;
    }
  }

  /** Sends the pieces of a result, then its end once the library does nothing more for it. */
  async run(pieces: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      const portions = portionsOf(pieces, RESULT_PIECE_BYTES, ENOUGH_BYTES);
      for await (const portion of portions) await this.#pass(portion);
    } catch (error) {
      this.#report(error);
    }
    await this.#work;
    this.#send({ kind: 'end', id: this.#id, spent: this.#spent });
  }

  /**
   * The result of work, or a rejection as soon as the task ends. Not a race with one promise for the end: that
   * would keep the result of each race, such as a batch, until the end.
   */
  async #unlessEnded<Result>(work: Promise<Result>): Promise<Result> {
    if (this.#isEnded) throw new TaskEnded();
    let end: (reason: Error) => void = () => undefined;
    try {
      return await new Promise<Result>((resolve, reject) => {
        this.#waits.add((end = reject));
        work.then(resolve, reject);
      });
    } finally {
      this.#waits.delete(end);
    }
  }

  /** Sends a piece once it is requested. */
  async #pass(parts: readonly Uint8Array[]): Promise<void> {
    while (this.#requested === 0 && !this.#isEnded) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#isEnded) throw new TaskEnded();
    this.#requested--;
    this.#send({ kind: 'piece', id: this.#id }, ...parts);
  }

  #overTime(): void {
    this.#fault('time', '');
    this.cancel();
  }

  #report(error: unknown): void {
    if (error instanceof TaskEnded) return;
    this.#fault(null, error instanceof Error ? error.message : String(error));
  }

  #fault(over: 'time' | null, text: string): void {
    this.#send({ kind: 'fault', id: this.#id, over, text });
  }
}
