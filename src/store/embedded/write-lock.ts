import { randomBytes } from 'node:crypto';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock, unlock } from 'fs-native-extensions';

/** The byte of the file that is locked. */
const LOCKED = [0, 1] as const;
/** Length of each of the two lines of the file: the last holder, and the last process that waited. */
const LINE_BYTES = 64;
/** How long the line of a waiting process counts, in ms. It writes the line again at each try. */
const FRESH_MILLIS = 100;

/**
 * The lock that a process holds while it writes to the embedded store. Beside LMDB's own lock it
 * can be tried without waiting. The system releases the lock of a process that ends; a stopped
 * process continues to hold it.
 *
 * The lines of the file are for people and for fairness. No decision about the data depends on
 * them, so a failed or torn write of a line is ignored.
 */
export class WriteLock {
  readonly #path: string;
  /** Identifies this lock: containers may use equal process ids. */
  readonly #own = `${process.pid} ${randomBytes(4).toString('hex')}`;
  readonly #lines = Buffer.alloc(2 * LINE_BYTES);
  #descriptor: number;

  /** Opens the file of a folder; creates it if it is missing (mode 0600). */
  constructor(folder: string) {
    this.#path = join(folder, 'write.lock');
    this.#descriptor = openLock(this.#path);
  }

  /**
   * Takes the lock if it is free. After its own turn a process leaves the lock to one that waits,
   * for `FRESH_MILLIS` at most.
   */
  tryTake(): boolean {
    if (!tryLock(this.#descriptor, ...LOCKED)) {
      this.#write(LINE_BYTES, `waiting ${this.#own} ${Date.now()}`);
      return false;
    }
    const [holder, waiting] = this.#read();
    if (holder !== `holder ${this.#own}`) this.#write(0, `holder ${this.#own}`);
    else if (this.#isAnother(waiting)) {
      this.release();
      return false;
    }
    return true;
  }

  release(): void {
    unlock(this.#descriptor, ...LOCKED);
  }

  /** Process id of the last holder; undefined if it is unknown. */
  holder(): number | undefined {
    const pid = Number(/^holder (\d+) /.exec(this.#read()[0])?.[1]);
    return Number.isSafeInteger(pid) ? pid : undefined;
  }

  /** Opens the file that the folder holds now. The lock must be free. */
  renew(): void {
    const next = openLock(this.#path);
    this.close();
    this.#descriptor = next;
  }

  /** Closes the file, which releases the lock. */
  close(): void {
    closeSync(this.#descriptor);
  }

  /** Whether a line is that of another process that waits now. */
  #isAnother(line: string): boolean {
    if (!line.startsWith('waiting ') || line.startsWith(`waiting ${this.#own} `)) return false;
    const age = Date.now() - Number(line.slice(line.lastIndexOf(' ')));
    return age >= 0 && age < FRESH_MILLIS;
  }

  #read(): readonly [string, string] {
    const length = readSync(this.#descriptor, this.#lines, 0, 2 * LINE_BYTES, 0);
    const text = this.#lines.toString('latin1', 0, length);
    return [text.slice(0, LINE_BYTES).trimEnd(), text.slice(LINE_BYTES).trimEnd()];
  }

  #write(at: number, line: string): void {
    try {
      writeSync(this.#descriptor, `${line.padEnd(LINE_BYTES - 1)}\n`, at, 'latin1');
    } catch {
      // The disk may be full. The lock itself needs no room.
    }
  }
}

function openLock(path: string): number {
  return openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
}
