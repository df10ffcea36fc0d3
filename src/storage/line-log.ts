import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppendFile } from './append-file.ts';

/** One line to be kept. */
export interface LogLine {
  /** Its bytes, with the newline at the end; or a text that its framing makes bytes of. */
  readonly bytes: Uint8Array | string;
  /** Orders ascend within a file: a line whose order does not begins a new one. */
  readonly order?: bigint;
  /** How many lines its framing makes of it; 1 when absent. */
  readonly lines?: number;
}

/** Framing of lines, which may depend on earlier lines. */
export interface Framing {
  /**
   * Lines that follow one another, as they stand in the file; the first has this place of the log,
   * from 1 and without gaps. The bytes are good until it is called again.
   */
  frame(place: bigint, lines: readonly LogLine[]): Uint8Array;
  /** Every line that was framed is on stable storage. */
  onDurable(): void;
  /** The lines that were framed since then are not in the log. */
  dropped(): void;
}

export interface LineLogOptions {
  readonly folder: string;
  /** The name of a file, by the order of its first line; `number` counts the files from 1. */
  readonly name: (number: number, first: bigint | undefined) => string;
  /** Framing of lines; none when absent. */
  readonly framing?: Framing;
  /** Mode of the files. */
  readonly mode: number;
  /** A file that is as large gets no further line. */
  readonly rotateBytes: number;
  /** A file without a new line for this long gets no more, in ms; no limit when absent. */
  readonly idleMillis?: number;
  /** Maximum delay before lines without a waiter are synced, in ms; only by size when absent. */
  readonly syncMillis?: number;
  /** How long a line without a waiter may stay in memory, in ms; 25 when absent. */
  readonly lazyMillis?: number;
  /** Size in bytes at which lines without a waiter are synced; a MiB when absent. */
  readonly unsyncedBytes?: number;
}

/** A line that is not on stable storage yet. */
interface Entry extends LogLine {
  /** The waiter, if there is one. */
  readonly waiter?: { readonly resolve: () => void; readonly reject: (error: Error) => void };
}

/** How long a line without a waiter may stay in memory, in ms. */
const LAZY_MILLIS = 25;
/** Default size in bytes at which lines without a waiter are synced. */
const UNSYNCED_BYTES = 2 ** 20;
/** Memory for lines without a waiter while the disk is full, in bytes. */
const KEEP_BYTES = 16 * 2 ** 20;
/** Lines are written in pieces of about this size. */
const PIECE_BYTES = 4 * 2 ** 20;
const RETRY_MILLIS = 1000;
/** Free bytes after which a disk that was full counts as writable again. */
const PROBE_BYTES = 2 ** 16;

/**
 * An append-only log of lines in files that rotate. Lines that come while a
 * write is in progress share the next write and flush.
 *
 * After a failure the file is left as it was at its last flush. Lines that
 * somebody waited for are refused and not in the log; the others go into a new
 * file as soon as the disk takes it. Nothing is written before the disk has taken that as well.
 */
export class LineLog {
  readonly #options: LineLogOptions;
  /** Lines that are not synced, in order; the first `#written` of them are in the file. */
  #lines: Entry[] = [];
  #bytes = 0;
  #written = 0;
  /** How many lines are synced. */
  #synced = 0n;
  #file: AppendFile | undefined;
  /** A file that may end with lines that were refused, or that are written again. */
  #torn: AppendFile | undefined;
  #files = 0;
  #last: bigint | undefined;
  #writtenMillis = 0;
  #lost = 0;
  #failure: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #syncTimer: NodeJS.Timeout | undefined;
  #syncDue = false;
  #working: Promise<void> | undefined;
  #closed = false;

  constructor(options: LineLogOptions) {
    this.#options = options;
  }

  /** Why lines could not be written a moment ago; undefined when they can. */
  get fault(): string | undefined {
    if (this.#failure === undefined || this.#lost === 0) return this.#failure;
    return `${this.#failure}; ${this.#lost} lines are lost`;
  }

  /**
   * Adds a line. A durable line is on stable storage when this resolves, and not
   * in the log when it rejects. Another line is in the file soon after: the result is undefined,
   * or a promise to wait for if too many lines are pending.
   */
  append(line: LogLine, durable: true): Promise<void>;
  append(line: LogLine, durable: boolean): Promise<void> | undefined;
  append(line: LogLine, durable: boolean): Promise<void> | undefined {
    if (this.#closed) return Promise.reject(new Error('the log is closed'));
    const full = this.#bytes + sizeOf(line) > KEEP_BYTES;
    if (durable || (full && this.#failure === undefined)) return this.#addAwaited(line);
    if (full) this.#lost += countOf(line);
    else this.#add(line);
    this.#schedule(this.#options.lazyMillis ?? LAZY_MILLIS);
    return undefined;
  }

  /**
   * Writes what is left and closes the file.
   * @throws Error when lines could not be written.
   */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#working;
    // Timers that end meanwhile join this work instead of writing the same lines beside it.
    if (this.#lines.length > 0 || this.#torn !== undefined) await this.#start();
    clearTimeout(this.#timer);
    clearTimeout(this.#syncTimer);
    this.#file?.close();
    this.#torn?.close();
    const lost = countAll(this.#lines);
    if (lost > 0) throw new Error(`${lost} lines are lost: ${this.#failure}`);
    if (this.#torn !== undefined) {
      throw new Error(`lines that were refused may be in the log: ${this.#failure}`);
    }
  }

  #addAwaited(line: LogLine): Promise<void> {
    const synced = new Promise<void>((resolve, reject) => {
      this.#add({ ...line, waiter: { resolve, reject } });
    });
    void this.#start();
    return synced;
  }

  #add(entry: Entry): void {
    this.#lines.push(entry);
    this.#bytes += sizeOf(entry);
  }

  #schedule(millis: number): void {
    this.#timer ??= setTimeout(() => void this.#start(), millis);
  }

  /** Resolves when there is nothing left to write. */
  #start(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#working ??= this.#work();
    return this.#working;
  }

  #scheduleSync(): void {
    const { syncMillis } = this.#options;
    if (syncMillis === undefined) return;
    this.#syncTimer ??= setTimeout(() => {
      this.#syncDue = true;
      void this.#start();
    }, syncMillis);
  }

  /** Writes, and flushes where it is due, until nothing is left to write. Does not throw. */
  async #work(): Promise<void> {
    // Lines that are added in this turn join the write.
    await Promise.resolve();
    try {
      await this.#mend();
      if (this.#lines.length === 0) await this.#probe();
      do {
        while (this.#written < this.#lines.length) {
          await this.#writeAll();
          if (this.#isSyncDue()) await this.#sync();
        }
        if (this.#closed || this.#syncDue) await this.#sync();
        // Calls during the sync joined the work in progress.
      } while (this.#written < this.#lines.length);
      this.#failure = undefined;
    } catch (error) {
      await this.#fail(error);
    } finally {
      this.#working = undefined;
      if (this.#failure !== undefined && !this.#closed) this.#schedule(RETRY_MILLIS);
    }
  }

  #isSyncDue(): boolean {
    return (
      this.#syncDue ||
      this.#bytes > (this.#options.unsyncedBytes ?? UNSYNCED_BYTES) ||
      this.#lines.some(({ waiter }) => waiter !== undefined)
    );
  }

  /** Brings the lines that are there now into files. */
  async #writeAll(): Promise<void> {
    let left = this.#lines.length - this.#written;
    while (left > 0) {
      const file = await this.#fileFor(this.#lines[this.#written]!);
      const piece = this.#piece(file, left);
      await file.write(this.#framed(piece));
      this.#writtenMillis = Date.now();
      left -= piece.length;
      this.#written += piece.length;
      this.#scheduleSync();
      this.#last = piece.at(-1)!.order;
    }
  }

  #framed(piece: readonly Entry[]): Uint8Array {
    const { framing } = this.#options;
    if (framing === undefined) return Buffer.concat(piece.map(bytesOf));
    const written = countAll(this.#lines.slice(0, this.#written));
    return framing.frame(this.#synced + BigInt(written + 1), piece);
  }

  /** As many of the next lines as go into the file in one write: at least one. */
  #piece(file: AppendFile, left: number): readonly Entry[] {
    const lines = this.#lines.slice(this.#written, this.#written + left);
    const room = Math.min(PIECE_BYTES, this.#options.rotateBytes - file.size);
    let count = 0;
    for (let bytes = 0; count < lines.length && bytes < room; count += 1) {
      if (count > 0 && !follows(lines[count]!, lines[count - 1]!.order)) break;
      bytes += sizeOf(lines[count]!);
    }
    return lines.slice(0, count);
  }

  /** The file that takes the next line: a new one when there is none, it is full, or the order would break. */
  async #fileFor(line: LogLine): Promise<AppendFile> {
    const { folder, mode, name, rotateBytes } = this.#options;
    const isOpen = this.#file !== undefined && !this.#isIdle();
    if (isOpen && this.#file!.size < rotateBytes && follows(line, this.#last)) return this.#file!;
    await this.#finish();
    this.#files += 1;
    this.#file = await AppendFile.create(join(folder, name(this.#files, line.order)), mode);
    return this.#file;
  }

  /** By the clock of the day, since that is what files are dated by. */
  #isIdle(): boolean {
    const millis = Date.now() - this.#writtenMillis;
    return millis < 0 || millis > (this.#options.idleMillis ?? Number.POSITIVE_INFINITY);
  }

  async #finish(): Promise<void> {
    await this.#sync();
    const file = this.#file;
    this.#file = undefined;
    file?.close();
  }

  async #sync(): Promise<void> {
    clearTimeout(this.#syncTimer);
    this.#syncTimer = undefined;
    this.#syncDue = false;
    const written = this.#written;
    if (written === 0) return;
    await this.#file?.sync();
    this.#written = 0;
    this.#options.framing?.onDurable();
    const durable = this.#lines.splice(0, written);
    this.#synced += BigInt(countAll(durable));
    for (const line of durable) {
      this.#bytes -= sizeOf(line);
      line.waiter?.resolve();
    }
  }

  /** Refuses the lines that somebody waits for; the others stay for the next try. */
  async #fail(error: unknown): Promise<void> {
    const said = error instanceof Error ? error.message : String(error);
    this.#failure = `${this.#options.folder} cannot be written: ${said}`;
    this.#torn ??= this.#file;
    this.#file = undefined;
    try {
      await this.#mend();
    } catch {
      // It is tried again before the next write.
    }
    this.#options.framing?.dropped();
    const lines = this.#lines;
    this.#lines = lines.filter(({ waiter }) => waiter === undefined);
    this.#written = 0;
    this.#bytes = this.#lines.reduce((sum, line) => sum + sizeOf(line), 0);
    for (const { waiter } of lines) waiter?.reject(new Error(this.#failure));
  }

  /** Cuts off what a failed write may have left, before anything is written. @throws the system's error */
  async #mend(): Promise<void> {
    await this.#torn?.abandon();
    this.#torn = undefined;
  }

  /** Finds out whether the disk takes anything, when there is nothing to write. */
  async #probe(): Promise<void> {
    if (this.#failure === undefined) return;
    const path = join(this.#options.folder, `probe-${process.pid}`);
    await rm(path, { force: true });
    const file = await AppendFile.create(path, this.#options.mode);
    try {
      await file.write(Buffer.alloc(PROBE_BYTES));
      await file.sync();
    } finally {
      file.close();
      await rm(path, { force: true });
    }
  }
}

function bytesOf({ bytes }: LogLine): Uint8Array {
  return typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
}

/** How much memory a line takes, in bytes. */
function sizeOf({ bytes }: LogLine): number {
  return bytes.length;
}

function countAll(lines: readonly LogLine[]): number {
  return lines.reduce((sum, line) => sum + countOf(line), 0);
}

function countOf({ lines }: LogLine): number {
  return lines ?? 1;
}

function follows({ order }: LogLine, last: bigint | undefined): boolean {
  return order === undefined || last === undefined || order > last;
}
