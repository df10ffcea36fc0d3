import { randomUUID } from 'node:crypto';
import { crc32 } from '@node-rs/crc32';
import { FileWriter } from '../../../arrow/ipc/file-writer.ts';
import type { RequestBudget } from '../../../protocol/budget.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { OpenObject, TemporaryObject } from '../../../storage/storage.ts';
import {
  asRefusal,
  openIncoming,
  type Incoming,
  type IncomingLimits,
} from '../../format/incoming.ts';
import { Holding } from '../../format/memory/request-memory.ts';
import { noRows } from '../../query/plan/answer.ts';
import type { LanceRowsFile } from '../../versions/managed/lance-library.ts';
import type { Call } from '../call/handler.ts';
import type { ManagedParts } from '../call/managed-parts.ts';
import type { LanceAccess } from './library-reads.ts';

/** Bytes of a file that are held in memory; a larger one lies on the disk. */
const IN_MEMORY = 8 * 2 ** 20;
/** Size of the pieces in which a file is read. */
const PIECE_BYTES = 2 ** 20;

/** Parts for reading the rows of requests. */
export type RowsParts = IncomingLimits &
  Pick<ManagedParts, 'storage' | 'tables'> & { readonly lance?: LanceAccess | undefined };

/**
 * The rows of a request as one Arrow file.
 * @throws CatalogError InvalidInput, also for more than the library takes; OverBudget
 */
export async function rowsFileOf(parts: RowsParts, { request }: Call): Promise<RowsFile> {
  const incoming = await openIncoming(request, parts);
  const file = new RowsFile(parts, request.budget);
  try {
    await file.fill(incoming);
    return file;
  } catch (error) {
    await file.close();
    throw asRefusal(error);
  }
}

/**
 * The rows of a change as one Arrow file, in memory or in a file without a name: neither an error nor a
 * crash leaves it behind. Close it in any case.
 */
export class RowsFile implements LanceRowsFile {
  readonly #parts: RowsParts;
  readonly #memory: Holding;
  #held: Uint8Array[] = [];
  #object: TemporaryObject | undefined;
  #written: OpenObject | undefined;
  #bytes = 0;
  #rows = 0;
  #isClosed = false;
  readonly #reads = new Set<Promise<number>>();
  /** CRC-32 of the bytes that were written to the disk. */
  #sum = 0;

  constructor(parts: RowsParts, budget: RequestBudget) {
    this.#parts = parts;
    this.#memory = new Holding(budget);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Number of rows. */
  get rows(): number {
    return this.#rows;
  }

  /** Writes all rows. @throws ArrowError, OverBudget */
  async fill({ schema, batches }: Incoming): Promise<void> {
    const writer = new FileWriter(schema);
    await this.#add([writer.begin()]);
    let count = 0;
    for await (const batch of batches) {
      await this.#add(writer.batch(batch));
      count++;
    }
    // The library takes no file without a batch.
    if (count === 0) await this.#add(writer.batch(noRows(schema)));
    await this.#add([writer.end()]);
    this.#rows = writer.rows;
    this.#written = await this.#object?.written();
  }

  /** @throws Error at the end if the bytes on the disk are not those that were written */
  async *pieces(): AsyncGenerator<Uint8Array> {
    if (this.#written === undefined) {
      yield* this.#held;
      return;
    }
    let sum = 0;
    for (let start = 0; start < this.#bytes; start += PIECE_BYTES) {
      const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, this.#bytes - start));
      await this.#read(this.#written, piece, start);
      sum = crc32(piece, sum);
      yield piece;
    }
    if (sum !== this.#sum) throw new Error('the rows of a request were changed on the disk');
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#held = [];
    this.#memory.close();
    await Promise.allSettled(this.#reads);
    await this.#object?.close();
  }

  /** A cancelled change may still read. */
  async #read(object: OpenObject, piece: Uint8Array, start: number): Promise<void> {
    if (this.#isClosed) throw new Error('the rows of a request are not needed any more');
    const read = object.read(piece, start);
    this.#reads.add(read);
    await read.finally(() => this.#reads.delete(read));
  }

  async #add(pieces: readonly Uint8Array[]): Promise<void> {
    const bytes = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
    this.#bytes += bytes;
    this.#requireFit();
    if (this.#object === undefined && this.#bytes <= IN_MEMORY) {
      this.#memory.charge(bytes);
      this.#held.push(...pieces);
      return;
    }
    const all = [...this.#held.splice(0), ...pieces];
    for (const piece of all) this.#sum = crc32(piece, this.#sum);
    await this.#spilled().write(all);
    this.#memory.close();
  }

  #requireFit(): void {
    const most = this.#parts.lance?.library?.rowBytes ?? Infinity;
    if (this.#bytes <= most) return;
    throw new CatalogError(
      'InvalidInput',
      `the rows of the request take more than ${most} bytes, the most that the Lance library takes at once (half of lance.memory): send them in parts`,
    );
  }

  #spilled(): TemporaryObject {
    const { storage, tables } = this.#parts;
    const folder = tables.folder({ id: randomUUID(), location: null });
    return (this.#object ??= storage.temporary(`${folder}.rows`));
  }
}
