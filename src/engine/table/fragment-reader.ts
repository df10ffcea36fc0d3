import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { RecordBatch } from 'apache-arrow';
import { openFile, type ArrowFile } from '../../arrow/file-reader.ts';
import type { RowRange } from '../../arrow/row-range.ts';
import { fileAccess, type OpenFile } from './random-access.ts';
import { Lease, ReadMemory } from './read-memory.ts';
import { workAhead } from './work-ahead.ts';
import type { Fragment, Snapshot } from './snapshot.ts';

/** A batch of a data file and the row id of its first row. */
export interface FragmentBatch {
  readonly batch: RecordBatch;
  readonly firstRowId: bigint;
  /** Position of the batch in its file. */
  readonly index: number;
  /** How many rows of the batch in the file come before the first one here; none unless given. */
  readonly start?: number;
  /**
   * Gives the memory of the rows back, for the next reads. To be called once, by
   * who knows that nothing looks at them any more; it need not be called at all.
   */
  readonly release?: () => void;
}

/** Where scans get their rows from. */
export interface BatchSource {
  /**
   * The rows of one data file, batch by batch, with exactly these columns in
   * this order. So many batches are read ahead of the one that is asked for.
   */
  batches(
    snapshot: Snapshot,
    fragment: Fragment,
    columns: readonly string[],
    ahead?: number,
  ): AsyncGenerator<FragmentBatch>;
  /** One batch of a data file, by its position; some of its rows are enough. */
  batch(
    snapshot: Snapshot,
    fragment: Fragment,
    index: number,
    columns: readonly string[],
    rows?: RowRange,
  ): Promise<FragmentBatch>;
  /** The same as the batch's `release`, for who sees the memory alone. Other memory is left alone. */
  giveBack?(memory: ArrayBufferLike): void;
}

interface OpenFragment extends OpenFile {
  readonly file: ArrowFile;
  /** Row ids of the batches' first rows, relative to the file's first row. */
  readonly starts: readonly number[];
}

interface Reading {
  readonly index: number;
  readonly columns: readonly string[];
  readonly rows?: RowRange | undefined;
}

/** How many data files stay open. */
const OPEN_FILES = 256;

/**
 * Reads data files. Each read opens nothing that is open already: files are
 * immutable, so their footers are parsed once.
 */
export class FragmentReader implements BatchSource {
  readonly #memory = new ReadMemory();
  readonly #open = new Map<string, { readonly opened: Promise<OpenFragment>; users: number }>();

  async *batches(
    snapshot: Snapshot,
    fragment: Fragment,
    columns: readonly string[],
    ahead = 0,
  ): AsyncGenerator<FragmentBatch> {
    const path = join(snapshot.folder, fragment.file);
    const entry = this.#acquire(path);
    try {
      const opened = await entry.opened;
      const read = (index: number) => this.#read(opened, fragment, { index, columns });
      yield* workAhead(opened.starts.keys(), ahead, read);
    } finally {
      this.#release(path, entry);
    }
  }

  async batch(
    snapshot: Snapshot,
    fragment: Fragment,
    index: number,
    columns: readonly string[],
    rows?: RowRange,
  ): Promise<FragmentBatch> {
    const path = join(snapshot.folder, fragment.file);
    const entry = this.#acquire(path);
    try {
      return await this.#read(await entry.opened, fragment, { index, columns, rows });
    } finally {
      this.#release(path, entry);
    }
  }

  giveBack(memory: ArrayBufferLike): void {
    this.#memory.giveBack(memory);
  }

  /** Closes every file that is not being read. */
  async close(): Promise<void> {
    await this.#shrink(0);
  }

  async #read(
    opened: OpenFragment,
    fragment: Fragment,
    { index, columns, rows }: Reading,
  ): Promise<FragmentBatch> {
    const lease = new Lease(this.#memory);
    const access = fileAccess(opened, (length) => lease.take(length));
    const batch = await opened.file.readBatch(index, columns, { rows, access });
    const start = rows?.start ?? 0;
    const firstRowId = fragment.firstRowId + BigInt((opened.starts[index] ?? 0) + start);
    return { batch, index, start, firstRowId, release: () => lease.release() };
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
