import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { RecordBatch } from 'apache-arrow';
import { openFile, type ArrowFile } from '../../arrow/file-reader.ts';
import { fileAccess } from './random-access.ts';
import type { Fragment, Snapshot } from './snapshot.ts';

/** A batch of a data file and the row id of its first row. */
export interface FragmentBatch {
  readonly batch: RecordBatch;
  readonly firstRowId: bigint;
  /** Position of the batch in its file. */
  readonly index: number;
}

/** Where scans get their rows from. */
export interface BatchSource {
  /** The rows of one data file, batch by batch, with exactly these columns in this order. */
  batches(
    snapshot: Snapshot,
    fragment: Fragment,
    columns: readonly string[],
  ): AsyncGenerator<FragmentBatch>;
  /** One batch of a data file, by its position. */
  batch(
    snapshot: Snapshot,
    fragment: Fragment,
    index: number,
    columns: readonly string[],
  ): Promise<FragmentBatch>;
}

interface OpenFragment {
  readonly handle: FileHandle;
  readonly file: ArrowFile;
  /** Row ids of the batches' first rows, relative to the file's first row. */
  readonly starts: readonly number[];
}

/** How many data files stay open. */
const OPEN_FILES = 256;

/**
 * Reads data files. Each read opens nothing that is open already: files are
 * immutable, so their footers are parsed once.
 */
export class FragmentReader implements BatchSource {
  readonly #open = new Map<string, { readonly opened: Promise<OpenFragment>; users: number }>();

  async *batches(
    snapshot: Snapshot,
    fragment: Fragment,
    columns: readonly string[],
  ): AsyncGenerator<FragmentBatch> {
    const path = join(snapshot.folder, fragment.file);
    const entry = this.#acquire(path);
    try {
      const opened = await entry.opened;
      for (let index = 0; index < opened.starts.length; index++) {
        yield await read(opened, fragment, index, columns);
      }
    } finally {
      this.#release(path, entry);
    }
  }

  async batch(
    snapshot: Snapshot,
    fragment: Fragment,
    index: number,
    columns: readonly string[],
  ): Promise<FragmentBatch> {
    const path = join(snapshot.folder, fragment.file);
    const entry = this.#acquire(path);
    try {
      return await read(await entry.opened, fragment, index, columns);
    } finally {
      this.#release(path, entry);
    }
  }

  /** Closes every file that is not being read. */
  async close(): Promise<void> {
    await this.#shrink(0);
  }

  #acquire(path: string) {
    const entry = this.#open.get(path) ?? { opened: openFragment(path), users: 0 };
    this.#open.delete(path);
    this.#open.set(path, entry);
    entry.users++;
    return entry;
  }

  #release(path: string, entry: { readonly opened: Promise<OpenFragment>; users: number }): void {
    entry.users--;
    entry.opened.catch(() => this.#open.delete(path));
    if (this.#open.size > OPEN_FILES) void this.#shrink(OPEN_FILES);
  }

  async #shrink(size: number): Promise<void> {
    for (const [path, entry] of this.#open) {
      if (this.#open.size <= size) return;
      if (entry.users > 0) continue;
      this.#open.delete(path);
      await entry.opened.then(
        (opened) => opened.handle.close(),
        () => undefined,
      );
    }
  }
}

async function openFragment(path: string): Promise<OpenFragment> {
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    const file = await openFile(fileAccess(handle, size, path));
    const starts: number[] = [];
    let start = 0;
    for (const rows of file.batchRows) {
      starts.push(start);
      start += rows;
    }
    return { handle, file, starts };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function read(
  opened: OpenFragment,
  fragment: Fragment,
  index: number,
  columns: readonly string[],
): Promise<FragmentBatch> {
  const batch = await opened.file.readBatch(index, columns);
  return { batch, index, firstRowId: fragment.firstRowId + BigInt(opened.starts[index] ?? 0) };
}
