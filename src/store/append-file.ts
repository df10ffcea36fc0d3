import { open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from './folder.ts';

/** A file that grows at its end. */
export class AppendFile {
  readonly path: string;
  readonly #file: FileHandle;
  #size = 0;
  #synced = 0;

  private constructor(path: string, file: FileHandle) {
    this.path = path;
    this.#file = file;
  }

  /**
   * Makes a new file. After this its name is on stable storage.
   * @throws the system's EEXIST when the name is taken.
   */
  static async create(path: string, mode: number): Promise<AppendFile> {
    const file = new AppendFile(path, await open(path, 'ax', mode));
    try {
      await syncFolder(dirname(path));
    } catch (error) {
      await file.close();
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
    for (let written = 0; written < bytes.byteLength; ) {
      const result = await this.#file.write(bytes, written);
      written += result.bytesWritten;
    }
    this.#size += bytes.byteLength;
  }

  /** After this everything that was written before the call is on stable storage (fdatasync). */
  async sync(): Promise<void> {
    const size = this.#size;
    await this.#file.datasync();
    this.#synced = size;
  }

  /**
   * Cuts off what was not synced, and closes. For a file that failed: what a
   * failed write or sync left of it is not known. Does not throw.
   */
  async abandon(): Promise<void> {
    try {
      await this.#file.truncate(this.#synced);
    } catch {
      // A torn last line stays behind; readers know it by its form.
    } finally {
      await this.#file.close().catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}
