import { FileDescriptor } from './file-descriptor.ts';
import type { CreateOptions } from './storage.ts';

/** No more bytes than this are written while others are being made ready: they are held in memory beside those. */
const BESIDE_BYTES = 32 * 2 ** 20;
/** Number of bytes after which a flush begins early, so that little is left for the end. */
const EARLY_BYTES = 32 * 2 ** 20;

/**
 * A new file that is written from its start to its end while its bytes are still
 * being made: a write continues beside whatever makes the next bytes.
 */
export class StreamedFile {
  readonly #file: FileDescriptor;
  #writing: Promise<void> | undefined;
  #flushing: Promise<void> | undefined;
  #unflushed = 0;

  private constructor(file: FileDescriptor) {
    this.#file = file;
  }

  /**
   * @param path Absolute and normalised.
   * @throws the system's error, EEXIST when the name is taken; LinkedPath when a folder on the path is a link that may not be followed.
   */
  static create(path: string, { mode, links = 'none' }: CreateOptions = {}): StreamedFile {
    const open = links === 'none' ? 'openPlain' : 'open';
    return new StreamedFile(FileDescriptor[open](path, 'wx', mode));
  }

  /**
   * Adds bytes at the end. Their memory must stay as it is until the next call returns.
   * @throws the system's error, perhaps that of the write before.
   */
  async write(pieces: readonly Uint8Array[]): Promise<void> {
    const bytes = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
    await this.#written();
    this.#flushEarly(bytes);
    const writing = this.#file.write(pieces);
    // The next call reports the error.
    writing.catch(() => undefined);
    this.#writing = writing;
    if (bytes > BESIDE_BYTES) await this.#written();
  }

  /** Waits until the system has all bytes. */
  async end(): Promise<void> {
    await this.#written();
  }

  /** After this the file's bytes are on stable storage; it is closed, also when this throws. */
  async sync(): Promise<void> {
    try {
      await this.#flushing;
      await this.#file.sync();
    } finally {
      this.#file.close();
    }
  }

  /** Closes an unneeded file without a flush. Does not throw. */
  async abandon(): Promise<void> {
    await Promise.allSettled([this.#writing, this.#flushing]);
    try {
      this.#file.close();
    } catch {
      // The file is unneeded.
    }
  }

  async #written(): Promise<void> {
    await this.#writing;
    this.#writing = undefined;
  }

  /** Begins to flush what was written before; one flush at a time, and none that anybody waits for now. */
  #flushEarly(bytes: number): void {
    if (this.#unflushed >= EARLY_BYTES && this.#flushing === undefined) {
      this.#unflushed = 0;
      this.#flushing = this.#file.datasync().then(() => {
        this.#flushing = undefined;
      });
      // The flush at the end waits for it, and tells of a fault.
      this.#flushing.catch(() => undefined);
    }
    this.#unflushed += bytes;
  }
}
