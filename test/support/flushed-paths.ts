import { dirname } from 'node:path';
import { vi } from 'vitest';
import { FileDescriptor } from '../../src/storage/file-descriptor.ts';

/** Which files and folders were flushed to the disk, by their paths when they were opened. They still are. */
export class FlushedPaths {
  readonly #paths = new WeakMap<FileDescriptor, string>();
  readonly #flushed = new Set<string>();

  /** Watches from now on, until all mocks are restored. */
  constructor() {
    const open = FileDescriptor.open.bind(FileDescriptor);
    const openPlain = FileDescriptor.openPlain.bind(FileDescriptor);
    const openEntry = FileDescriptor.openEntry.bind(FileDescriptor);
    vi.spyOn(FileDescriptor, 'open').mockImplementation((path, ...how) =>
      this.#opened(path, open(path, ...how)),
    );
    vi.spyOn(FileDescriptor, 'openPlain').mockImplementation((path, flags) =>
      this.#opened(path, openPlain(path, flags)),
    );
    vi.spyOn(FileDescriptor, 'openEntry').mockImplementation((path) =>
      this.#opened(path, openEntry(path)),
    );
    for (const name of ['sync', 'datasync'] as const) this.#watch(name);
    for (const name of ['write', 'truncate'] as const) this.#unflush(name);
  }

  /** Whether a path was flushed since it was last written through a descriptor, or forgotten. */
  has(path: string): boolean {
    return this.#flushed.has(path);
  }

  /** Whether anything was that lies right in a folder. */
  hasIn(folder: string): boolean {
    return [...this.#flushed].some((path) => dirname(path) === folder);
  }

  #opened(path: string, file: FileDescriptor): FileDescriptor {
    this.#paths.set(file, path);
    return file;
  }

  /** What comes next has to be flushed by itself. */
  forget(): void {
    this.#flushed.clear();
  }

  #watch(name: 'sync' | 'datasync'): void {
    const flush = FileDescriptor.prototype[name];
    const note = (file: FileDescriptor) => this.#flushed.add(this.#paths.get(file) ?? '');
    vi.spyOn(FileDescriptor.prototype, name).mockImplementation(async function (
      this: FileDescriptor,
    ) {
      await flush.call(this);
      note(this);
    });
  }

  #unflush(name: 'write' | 'truncate'): void {
    const write = FileDescriptor.prototype[name] as (sent: unknown) => Promise<void>;
    const note = (file: FileDescriptor) => this.#flushed.delete(this.#paths.get(file) ?? '');
    vi.spyOn(FileDescriptor.prototype, name).mockImplementation(async function (
      this: FileDescriptor,
      sent: unknown,
    ) {
      note(this);
      await write.call(this, sent);
    });
  }
}
