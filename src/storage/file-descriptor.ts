import {
  close,
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsync,
  ftruncate,
  openSync,
  read as readCallback,
  readSync,
  writevSync,
  writev as writevCallback,
} from 'node:fs';
import { pid, platform } from 'node:process';
import { promisify } from 'node:util';
import { isRefusedLink, LinkedPath, requirePlainPath } from './plain-path.ts';
import type { OpenObject } from './storage.ts';

const read = promisify(readCallback);
const writev = promisify(writevCallback);
const truncate = promisify(ftruncate);

/** To read, and never to wait for another program: somebody may have put a pipe in the place of a file. */
const READING = constants.O_RDONLY | constants.O_NONBLOCK;
/** How many pieces one system call takes: below IOV_MAX of every platform. */
const PIECES = 512;
/** As many bytes are copied to the system faster than another thread is woken to do it. */
const SMALL_BYTES = 2 ** 16;

/**
 * An open file. Opening, closing, and small reads and writes are synchronous, since they
 * only touch the memory of the system. Calls that move many bytes or wait for the disk are not.
 */
export class FileDescriptor implements OpenObject {
  readonly #descriptor: number;
  #closed = false;

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /**
   * @param flags As those of `node:fs`: `wx` makes a new file, `ax` one that grows at its end.
   * @throws the system's error.
   */
  static open(path: string, flags: 'r' | 'w' | 'wx' | 'ax', mode?: number): FileDescriptor {
    return new FileDescriptor(openSync(path, flags === 'r' ? READING : flags, mode));
  }

  /** Opens a file for reading that is no link itself. @throws LinkedPath when it is one, and the system's error. */
  static openEntry(path: string): FileDescriptor {
    return new FileDescriptor(openedPlainly(path, READING | constants.O_NOFOLLOW));
  }

  /**
   * The same without following a symbolic link anywhere on the path.
   * @param path Absolute and normalised.
   * @throws LinkedPath where there is one, and the system's error.
   */
  static openPlain(path: string, flags: 'r' | 'wx' | 'wx+', mode?: number): FileDescriptor {
    const how = flags === 'r' ? READING | constants.O_NOFOLLOW : flags;
    const descriptor = openedPlainly(path, how, mode);
    try {
      requirePlainPath(descriptor, path);
      return new FileDescriptor(descriptor);
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }

  /** Writes all of the pieces one behind the other. After this other processes can read them; they are not yet durable. */
  async write(pieces: readonly Uint8Array[]): Promise<void> {
    const filled = pieces.filter((piece) => piece.byteLength > 0);
    for (let start = 0; start < filled.length; start += PIECES) {
      await this.#writeAll(filled.slice(start, start + PIECES));
    }
  }

  /** Whether it is a file, not a folder, a pipe or a device. */
  isPlain(): boolean {
    return this.plainSize() !== undefined;
  }

  /** Bytes of the file now; undefined for what is no file. */
  plainSize(): number | undefined {
    const stats = fstatSync(this.#descriptor);
    return stats.isFile() ? stats.size : undefined;
  }

  /** Bytes of the file now. */
  size(): number {
    return fstatSync(this.#descriptor).size;
  }

  /**
   * Reads bytes from a place on, as many as there is room for, or as there are.
   * @returns How many were read.
   */
  async read(into: Uint8Array, position: number): Promise<number> {
    const length = into.byteLength;
    if (length <= SMALL_BYTES) return readSync(this.#descriptor, into, 0, length, position);
    return (await read(this.#descriptor, into, 0, length, position)).bytesRead;
  }

  /** The same at once; undefined for more bytes than are copied faster than a thread is woken. */
  readNow(into: Uint8Array, position: number): number | undefined {
    const length = into.byteLength;
    return length > SMALL_BYTES ? undefined : readSync(this.#descriptor, into, 0, length, position);
  }

  /** The descriptor as others see it: the file itself may have no name. */
  sharedPath(): string | undefined {
    return platform === 'linux' ? `/proc/${pid}/fd/${this.#descriptor}` : undefined;
  }

  /** Whether the file has no name any more. */
  isRemoved(): boolean {
    return fstatSync(this.#descriptor).nlink === 0;
  }

  /** After this the file's bytes are on stable storage. */
  sync(): Promise<void> {
    return flushed(fsync, this.#descriptor);
  }

  /** The same, but for what describes the file and is not needed to read it (fdatasync). */
  datasync(): Promise<void> {
    return flushed(fdatasync, this.#descriptor);
  }

  async truncate(size: number): Promise<void> {
    await truncate(this.#descriptor, size);
  }

  /** May only be called when nothing else is in progress. A second time it does nothing: the number may be another file's by then. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    closeSync(this.#descriptor);
  }

  /** The same on another thread, which nobody waits for: the system takes long to free a large file without a name. */
  closeApart(): void {
    if (this.#closed) return;
    this.#closed = true;
    close(this.#descriptor, () => undefined);
  }

  /** A short write is no error to the operating system, so what is left over is written again. */
  async #writeAll(pieces: readonly Uint8Array[]): Promise<void> {
    let rest = pieces;
    while (rest.length > 0) rest = without(rest, await this.#writeSome(rest));
  }

  async #writeSome(pieces: readonly Uint8Array[]): Promise<number> {
    const bytes = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
    if (bytes <= SMALL_BYTES) return writevSync(this.#descriptor, pieces);
    return (await writev(this.#descriptor, pieces)).bytesWritten;
  }
}

function openedPlainly(path: string, flags: string | number, mode?: number): number {
  try {
    return openSync(path, flags, mode);
  } catch (error) {
    throw isRefusedLink(error, path) ? new LinkedPath(path) : error;
  }
}

/** Each commit waits for several of these: one promise each, and no more. */
function flushed(flush: typeof fsync, descriptor: number): Promise<void> {
  return new Promise((resolve, reject) => {
    flush(descriptor, (error) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
}

function without(pieces: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let skipped = 0;
  const rest: Uint8Array[] = [];
  for (const piece of pieces) {
    const cut = Math.min(piece.byteLength, Math.max(0, bytes - skipped));
    skipped += piece.byteLength;
    if (cut < piece.byteLength) rest.push(piece.subarray(cut));
  }
  return rest;
}
