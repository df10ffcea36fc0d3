import { join } from 'node:path';
import { AppendFile } from './append-file.ts';

/** One line to be kept. */
export interface Line {
  /** Its place in the log: each line's is above that of the line before. */
  readonly order: bigint;
  /** Its bytes, with the newline at the end. */
  readonly bytes: Uint8Array;
}

export interface LineLogOptions {
  readonly folder: string;
  /** The name of a file that begins with the line of that order; `number` counts the files from 1. */
  readonly name: (first: bigint, number: number) => string;
  /** Mode of the files. */
  readonly mode: number;
  /** A file that is as large gets no further line. */
  readonly rotateBytes: number;
  /** Memory for lines that cannot be written now, in bytes; what is more is lost. */
  readonly keepBytes: number;
}

interface Entry extends Line {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  /** Somebody waits until the line is on stable storage. */
  readonly awaited: boolean;
}

/** How long a line that nobody waits for may stay in memory. */
const LAZY_MILLIS = 25;
const RETRY_MILLIS = 1000;
/** Lines that nobody waits for are synced once they are so many bytes. */
const UNSYNCED_BYTES = 2 ** 20;
/** Lines are written in pieces of about this size. */
const PIECE_BYTES = 4 * 2 ** 20;

/**
 * An append-only log of lines in files that rotate. Lines that come while a
 * write is under way share the next write and flush. After a failure the file
 * is left as it was at its last flush, and every line since goes into a new
 * file as soon as the disk takes it: no line is lost while the process lives,
 * save those that find no room to wait.
 */
export class LineLog {
  readonly #options: LineLogOptions;
  /** Lines that are not on stable storage yet, in order; the first `#written` of them are in the file. */
  #lines: Entry[] = [];
  #bytes = 0;
  #written = 0;
  #file: AppendFile | undefined;
  #last = -1n;
  #number = 0;
  #lost = 0;
  #failure: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  #closed = false;

  constructor(options: LineLogOptions) {
    this.#options = options;
  }

  /** Why lines cannot be written now; undefined when they can. */
  get fault(): string | undefined {
    if (this.#failure === undefined || this.#lost === 0) return this.#failure;
    return `${this.#failure}; ${this.#lost} lines are lost`;
  }

  /**
   * Adds a line. A durable one is on stable storage when this resolves; when it
   * rejects the line is not, but will be if the disk takes it later. Any other
   * resolves at once and is in the file soon after.
   */
  async append(line: Line, durable: boolean): Promise<void> {
    if (this.#closed) throw new Error('the log is closed');
    if (this.#failure !== undefined) return this.#keep(line, durable);
    if (durable || this.#bytes > this.#options.keepBytes) return this.#flushed(line);
    this.#add(unawaited(line));
    this.#schedule(LAZY_MILLIS);
  }

  #flushed(line: Line): Promise<void> {
    const flushed = new Promise<void>((resolve, reject) => {
      this.#add({ ...line, awaited: true, resolve, reject });
    });
    this.#start();
    return flushed;
  }

  /**
   * Writes what is left and closes the file.
   * @throws Error when lines could not be written.
   */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#working;
    clearTimeout(this.#timer);
    if (this.#lines.length > 0) await this.#work();
    await this.#file?.close();
    if (this.#lines.length > 0) {
      throw new Error(`${this.#lines.length} lines could not be written: ${this.#failure}`);
    }
  }

  /** While nothing can be written a line waits for better times, as far as there is room. */
  #keep(line: Line, durable: boolean): void {
    if (this.#bytes + line.bytes.byteLength > this.#options.keepBytes) this.#lost += 1;
    else this.#add(unawaited(line));
    if (durable) throw new Error(this.#failure);
  }

  #add(entry: Entry): void {
    this.#lines.push(entry);
    this.#bytes += entry.bytes.byteLength;
  }

  #schedule(millis: number): void {
    this.#timer ??= setTimeout(() => this.#start(), millis);
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#working ??= this.#work();
  }

  /** Writes and flushes until nothing is left to write; never throws. */
  async #work(): Promise<void> {
    // What else is added in this turn shares the write.
    await Promise.resolve();
    try {
      while (this.#written < this.#lines.length) {
        await this.#writeAll();
        if (this.#closed || this.#isSyncDue()) await this.#sync();
      }
      if (this.#closed) await this.#sync();
      this.#failure = undefined;
    } catch (error) {
      await this.#fail(error);
    } finally {
      this.#working = undefined;
    }
  }

  #isSyncDue(): boolean {
    return this.#bytes > UNSYNCED_BYTES || this.#lines.some((entry) => entry.awaited);
  }

  /** Brings the lines that are there now into files. */
  async #writeAll(): Promise<void> {
    for (const end = this.#lines.length; this.#written < end; ) {
      const file = await this.#fileFor(this.#lines[this.#written]!);
      const piece = this.#piece(file, end);
      await file.write(Buffer.concat(piece.map((entry) => entry.bytes)));
      this.#written += piece.length;
      this.#last = piece.at(-1)!.order;
    }
  }

  /** As many of the next lines as go into the file in one write: at least one. */
  #piece(file: AppendFile, end: number): readonly Entry[] {
    const room = Math.min(PIECE_BYTES, this.#options.rotateBytes - file.size);
    const first = this.#lines[this.#written]!;
    let bytes = first.bytes.byteLength;
    let next = this.#written + 1;
    while (next < end && bytes < room && this.#follows(next)) {
      bytes += this.#lines[next]!.bytes.byteLength;
      next += 1;
    }
    return this.#lines.slice(this.#written, next);
  }

  #follows(index: number): boolean {
    return this.#lines[index]!.order > this.#lines[index - 1]!.order;
  }

  /** The file that takes the next line: a new one when there is none, it is full, or the order would break. */
  async #fileFor(line: Line): Promise<AppendFile> {
    const { folder, mode, name, rotateBytes } = this.#options;
    const file = this.#file;
    if (file !== undefined && file.size < rotateBytes && line.order > this.#last) return file;
    if (file !== undefined) await this.#finish(file);
    this.#number += 1;
    this.#file = await AppendFile.create(join(folder, name(line.order, this.#number)), mode);
    return this.#file;
  }

  async #finish(file: AppendFile): Promise<void> {
    await this.#sync();
    this.#file = undefined;
    await file.close();
  }

  async #sync(): Promise<void> {
    const written = this.#written;
    if (written === 0) return;
    await this.#file?.sync();
    for (const entry of this.#lines.splice(0, written)) {
      this.#bytes -= entry.bytes.byteLength;
      entry.resolve();
    }
    this.#written = 0;
  }

  /** Those who wait are told; the lines stay for the next try, in a new file. */
  async #fail(error: unknown): Promise<void> {
    const failure = error instanceof Error ? error.message : String(error);
    this.#failure = `${this.#options.folder} cannot be written: ${failure}`;
    const waiting = this.#lines;
    this.#lines = waiting.map(unawaited);
    this.#written = 0;
    for (const entry of waiting) entry.reject(new Error(this.#failure));
    await this.#file?.abandon();
    this.#file = undefined;
    if (!this.#closed) this.#schedule(RETRY_MILLIS);
  }
}

function unawaited({ order, bytes }: Line): Entry {
  return { order, bytes, awaited: false, resolve: ignore, reject: ignore };
}

function ignore(): void {}
