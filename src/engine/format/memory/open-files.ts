import { openFile, type ArrowFile } from '../../../arrow/ipc/file-reader.ts';
import { openOwn } from '../../../storage/own-file.ts';
import { fileAccess, type OpenFile } from './random-access.ts';

/** A data file that is open; its footer is parsed. */
export interface OpenDataFile extends OpenFile {
  readonly file: ArrowFile;
  /** The first row of each batch. */
  readonly starts: readonly number[];
}

interface Entry {
  readonly opened: Promise<OpenDataFile>;
  /** The same once it is there. */
  ready: OpenDataFile | undefined;
  users: number;
}

/** How many data files stay open. */
const OPEN_FILES = 256;

/** Keeps data files open: they are immutable, so each footer is parsed once. */
export class OpenFiles {
  readonly #entries = new Map<string, Entry>();

  /**
   * Lets work use an open file; it stays open at least so long. At once where it is open and
   * the work waits for nothing. Does not throw: what goes wrong is told by a promise.
   */
  use<Result>(
    path: string,
    work: (file: OpenDataFile) => Result | Promise<Result>,
  ): Result | Promise<Result> {
    const entry = this.#entries.get(path) ?? opening(path);
    this.#entries.delete(path);
    this.#entries.set(path, entry);
    if (entry.ready === undefined) return this.#finish(path, entry, () => entry.opened.then(work));
    try {
      const result = work(entry.ready);
      return result instanceof Promise ? this.#finish(path, entry, () => result) : result;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async #finish<Result>(path: string, entry: Entry, work: () => Promise<Result>): Promise<Result> {
    entry.users++;
    try {
      return await work();
    } finally {
      entry.users--;
      entry.opened.catch(() => this.#forget(path, entry));
      if (this.#entries.size > OPEN_FILES) void this.#shrink(OPEN_FILES).catch(() => undefined);
    }
  }

  /** Closes every file that is not in use. */
  async close(): Promise<void> {
    await this.#shrink(0);
  }

  /** Closes the files that have been removed and are not in use: open they would keep their place on the disk. */
  async closeRemoved(): Promise<void> {
    const entries = [...this.#entries];
    for (const [path, entry] of entries) {
      const opened = await entry.opened.catch(() => undefined);
      const stats = await opened?.handle.stat().catch(() => undefined);
      if (opened === undefined || stats === undefined || stats.nlink > 0) continue;
      // Somebody may have begun to use it, or closed it, while it was looked at.
      if (entry.users > 0 || this.#entries.get(path) !== entry) continue;
      this.#entries.delete(path);
      await opened.handle.close();
    }
  }

  /** Somebody may have opened it again meanwhile. */
  #forget(path: string, entry: Entry): void {
    if (this.#entries.get(path) === entry) this.#entries.delete(path);
  }

  async #shrink(size: number): Promise<void> {
    for (const [path, entry] of this.#entries) {
      if (this.#entries.size <= size) return;
      if (entry.users > 0) continue;
      this.#entries.delete(path);
      await entry.opened.then(
        (opened) => opened.handle.close(),
        () => undefined,
      );
    }
  }
}

function opening(path: string): Entry {
  const entry: Entry = { opened: openPath(path), ready: undefined, users: 0 };
  entry.opened.then(
    (file) => {
      entry.ready = file;
    },
    () => undefined,
  );
  return entry;
}

async function openPath(path: string): Promise<OpenDataFile> {
  const handle = await openOwn(path);
  try {
    const { size } = await handle.stat();
    const file = await openFile(fileAccess({ handle, size, path }));
    const starts: number[] = [];
    let start = 0;
    for (const rows of file.batchRows) {
      starts.push(start);
      start += rows;
    }
    return { path, handle, size, file, starts };
  } catch (error) {
    await handle.close();
    throw error;
  }
}
