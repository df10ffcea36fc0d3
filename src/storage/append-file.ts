import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from './folder.ts';
import { FileDescriptor } from './file-descriptor.ts';

/** A file that grows at its end. */
export class AppendFile {
  readonly #path: string;
  readonly #file: FileDescriptor;
  #size = 0;
  #synced = 0;

  private constructor(path: string, file: FileDescriptor) {
    this.#path = path;
    this.#file = file;
  }

  /**
   * Makes a new file. After this its name is on stable storage.
   * @throws the system's error; EEXIST when the name is taken.
   */
  static async create(path: string, mode: number): Promise<AppendFile> {
    const file = new AppendFile(path, FileDescriptor.open(path, 'ax', mode));
    try {
      await syncFolder(dirname(path));
    } catch (error) {
      // It is empty.
      await rm(path, { force: true }).catch(() => undefined);
      file.close();
      throw error;
    }
    return file;
  }

  /** Bytes that were written. */
  get size(): number {
    return this.#size;
  }

  /** Adds bytes at the end. After this other processes can read them; they are not yet durable. */
  async write(bytes: Uint8Array): Promise<void> {
    await this.#file.write([bytes]);
    this.#size += bytes.byteLength;
  }

  /** After this everything that was written before the call is on stable storage (fdatasync). */
  async sync(): Promise<void> {
    const size = this.#size;
    await this.#file.datasync();
    this.#synced = size;
  }

  close(): void {
    this.#file.close();
  }

  /**
   * Closes after a failure. What was not synced is cut off, since nobody knows what became of it; a file of
   * which nothing is left is removed. That is on stable storage after this.
   * @throws the system's error when the bytes may still be there: the file stays open, to be abandoned again.
   */
  async abandon(): Promise<void> {
    if (this.#synced > 0) {
      await this.#file.truncate(this.#synced);
      await this.#file.sync();
    } else {
      await rm(this.#path, { force: true });
      await syncFolder(dirname(this.#path));
    }
    try {
      this.#file.close();
    } catch {
      // No longer needed.
    }
  }
}
