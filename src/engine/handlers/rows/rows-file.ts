import { randomUUID } from 'node:crypto';
import { crc32 } from '@node-rs/crc32';
import type { RecordBatch, Schema } from 'apache-arrow';
import { FileWriter } from '../../../arrow/ipc/file-writer.ts';
import type { RequestBudget } from '../../../protocol/budget.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { OpenObject, TemporaryObject } from '../../../storage/storage.ts';
import { itemAt } from '../../base/items.ts';
import {
  asRefusal,
  openIncoming,
  type Incoming,
  type IncomingLimits,
} from '../../format/incoming.ts';
import { pieces } from '../../format/ingest.ts';
import { Holding } from '../../format/memory/request-memory.ts';
import { noRows } from '../../query/plan/answer.ts';
import type {
  LanceRowsFile,
  LanceRowsPart,
  SharedBytes,
} from '../../versions/managed/lance-library.ts';
import type { Call } from '../call/handler.ts';
import type { ManagedParts } from '../call/managed-parts.ts';
import type { LanceAccess } from './library-reads.ts';

/** Bytes of a file that are held in memory; a larger one lies on the disk. */
const IN_MEMORY = 8 * 2 ** 20;
/** Size of the pieces in which a file is read. */
const PIECE_BYTES = 2 ** 20;
/** Memory that a merge needs beside its rows, in bytes, and how often the library holds its rows: both were measured. */
const MERGE_BYTES = 2 ** 27;
const MERGE_COPIES = 3;
/** Files that the library could take at once: several changes share what it takes, and it copies each file. */
const FILES_AT_ONCE = 4;

/** Parts for reading the rows of requests. */
export type RowsParts = IncomingLimits &
  Pick<ManagedParts, 'storage' | 'tables'> & { readonly lance?: LanceAccess | undefined };

/**
 * The rows of a request as Arrow files.
 * @param isWhole Whether the library needs them in one file.
 * @param checked The rows to write, which may be judged while they are read.
 * @throws CatalogError InvalidInput, also for more than the library takes; OverBudget
 */
export async function rowsFileOf(
  parts: RowsParts,
  { request }: Call,
  isWhole = false,
  checked: (incoming: Incoming) => Incoming = (incoming) => incoming,
): Promise<RowsFile> {
  const incoming = await openIncoming(request, parts);
  const file = new RowsFile(parts, request.budget, isWhole);
  try {
    await file.fill(checked(incoming));
    return file;
  } catch (error) {
    await file.close();
    throw asRefusal(error);
  }
}

/** An Arrow file that is a part of the bytes of a request. */
interface FilePart {
  readonly start: number;
  bytes: number;
  /** CRC-32 of what was written to the disk. */
  sum: number;
}

/**
 * The rows of a change as Arrow files, in memory or in a file without a name: neither an error nor a
 * crash leaves it behind. Close it in any case.
 */
export class RowsFile implements LanceRowsFile {
  readonly #parts: RowsParts;
  readonly #memory: Holding;
  /** Most bytes that the library takes at once. */
  readonly #most: number;
  /** Bytes with which a file ends. */
  readonly #enough: number;
  readonly #isWhole: boolean;
  #held: Uint8Array[] = [];
  #object: TemporaryObject | undefined;
  #writing: Promise<void> | undefined;
  #written: OpenObject | undefined;
  #rows = 0;
  #isClosed = false;
  readonly #reads = new Set<Promise<number>>();
  readonly #files: FilePart[] = [];
  #writer: FileWriter | undefined;

  constructor(parts: RowsParts, budget: RequestBudget, isWhole: boolean) {
    this.#parts = parts;
    this.#memory = new Holding(budget);
    const most = parts.lance?.library?.rowBytes ?? Infinity;
    this.#most = isWhole ? mergeBytes(most) : most;
    this.#isWhole = isWhole;
    this.#enough = isWhole ? Infinity : most / FILES_AT_ONCE;
  }

  get bytes(): number {
    return this.#files[0]?.bytes ?? 0;
  }

  get later(): readonly LanceRowsPart[] {
    return this.#files.slice(1).map((part) => ({
      bytes: part.bytes,
      shared: this.#sharedOf(part),
      pieces: () => this.#piecesOf(part),
    }));
  }

  get shared(): SharedBytes | undefined {
    return this.#sharedOf(itemAt(this.#files, 0));
  }

  /** Number of rows. */
  get rows(): number {
    return this.#rows;
  }

  /** Writes all rows. @throws ArrowError, OverBudget */
  async fill({ schema, batches }: Incoming): Promise<void> {
    for await (const batch of batches) {
      for (const piece of pieces(batch)) await this.#write(schema, piece);
    }
    // The library takes no file without a batch.
    if (this.#files.length === 0) await this.#write(schema, noRows(schema));
    await this.#end();
    await this.#writing;
    this.#memory.close();
    this.#written = await this.#object?.written();
  }

  pieces(): AsyncIterable<Uint8Array> {
    return this.#piecesOf(itemAt(this.#files, 0));
  }

  #sharedOf({ start, sum }: FilePart): SharedBytes | undefined {
    const path = this.#written?.sharedPath?.();
    return path === undefined ? undefined : { path, start, sum };
  }

  /** @throws Error at the end if the bytes on the disk are not those that were written */
  async *#piecesOf({ start, bytes, sum: written }: FilePart): AsyncGenerator<Uint8Array> {
    if (this.#written === undefined) {
      yield* this.#held;
      return;
    }
    let sum = 0;
    for (let at = 0; at < bytes; at += PIECE_BYTES) {
      const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, bytes - at));
      await this.#read(this.#written, piece, start + at);
      sum = crc32(piece, sum);
      yield piece;
    }
    if (sum !== written) throw new Error('the rows of a request were changed on the disk');
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#held = [];
    this.#memory.close();
    await Promise.allSettled([this.#writing, ...this.#reads]);
    await this.#object?.close();
  }

  /** A cancelled change may still read. */
  async #read(object: OpenObject, piece: Uint8Array, start: number): Promise<void> {
    if (this.#isClosed) throw new Error('the rows of a request are not needed any more');
    const read = object.read(piece, start);
    this.#reads.add(read);
    await read.finally(() => this.#reads.delete(read));
  }

  async #write(schema: Schema, batch: RecordBatch): Promise<void> {
    if (this.#writer === undefined) {
      const { start, bytes } = this.#files.at(-1) ?? { start: 0, bytes: 0 };
      this.#files.push({ start: start + bytes, bytes: 0, sum: 0 });
      this.#writer = new FileWriter(schema);
      await this.#add([this.#writer.begin()]);
    }
    await this.#add(this.#writer.batch(batch));
    if (this.#writer.bytes >= this.#enough) await this.#end();
  }

  async #end(): Promise<void> {
    if (this.#writer === undefined) return;
    await this.#add([this.#writer.end()]);
    this.#rows += this.#writer.rows;
    this.#writer = undefined;
  }

  async #add(pieces: readonly Uint8Array[]): Promise<void> {
    const file = itemAt(this.#files, this.#files.length - 1);
    const bytes = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
    file.bytes += bytes;
    this.#requireFit(file);
    if (this.#object === undefined && file.bytes <= Math.min(IN_MEMORY, this.#enough)) {
      this.#memory.charge(bytes);
      this.#held.push(...pieces);
      return;
    }
    const all = [...this.#held.splice(0), ...pieces];
    for (const piece of all) file.sum = crc32(piece, file.sum);
    await this.#spill(all, bytes);
  }

  /** Writes beside the reading of the next batch, unless that would hold much more memory. */
  async #spill(pieces: readonly Uint8Array[], bytes: number): Promise<void> {
    await this.#writing;
    this.#memory.close();
    const writing = this.#spilled().write(pieces);
    // The next call reports the error.
    writing.catch(() => undefined);
    this.#writing = writing;
    if (bytes <= IN_MEMORY) this.#memory.charge(bytes);
    else await writing;
  }

  #requireFit({ bytes }: FilePart): void {
    if (bytes <= this.#most) return;
    throw new CatalogError(
      'InvalidInput',
      this.#isWhole
        ? `the rows of the merge take more than ${this.#most} bytes, a third of lance.memory without 128 MiB, and the Lance library takes them at once: send them in several merges with different keys, or raise lance.memory`
        : `a batch of the request takes more than ${this.#most} bytes, half of lance.memory, and the Lance library takes it at once: send smaller batches, or raise lance.memory`,
    );
  }

  #spilled(): TemporaryObject {
    const { storage, tables } = this.#parts;
    const folder = tables.folder({ id: randomUUID(), location: null });
    return (this.#object ??= storage.temporary(`${folder}.rows`));
  }
}

/** Most bytes of the rows of a merge. @param half Half of the memory of a process. */
function mergeBytes(half: number): number {
  return Math.max(IN_MEMORY, Math.floor((2 * half - MERGE_BYTES) / MERGE_COPIES));
}
