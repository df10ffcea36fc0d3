import { crc32 } from '@node-rs/crc32';
import { Schema } from 'apache-arrow';
import type { ByteStream } from '../../../protocol/backend.ts';
import type { ObjectPath } from '../../../protocol/identifier.ts';
import type { Fields } from '../../base/fields.ts';
import type { Statement } from '../../base/statement.ts';
import { MAIN } from '../../format/chain.ts';
import type { AnswerMemory } from '../../format/memory/answer-memory.ts';
import type { Stored, TableRecord } from '../../format/records.ts';
import { reservedBody, type Portion, type PortionSource } from '../../query/plan/answer-body.ts';
import type { Tags } from '../../versions/lines/tags.ts';
import {
  LibraryEnded,
  type LanceLibrary,
  type LanceTableVersion,
} from '../../versions/managed/lance-library.ts';
import type { LanceColumns, OwnFiles } from '../../versions/managed/lance-files.ts';
import { locationOf } from '../../versions/managed/managed-versions.ts';
import { adoptedTable } from '../call/adopted-table.ts';
import type { Call } from '../call/handler.ts';
import { readPlace, type TableView } from '../call/read-place.ts';

/** How the rows of Lance tables are reached: through the library, or not at all. */
export interface LanceAccess {
  readonly library?: LanceLibrary;
  /** Checks the files of versions that the library is to open. */
  readonly files?: Pick<OwnFiles, 'require'>;
  /** How to get the library; absent where it is there. */
  readonly missing?: string;
  /** Advice to clients where there is no library. */
  readonly instead: string;
}

/** The library if it reads a table's rows; undefined for tables of the engine and declared ones. */
export function inLibrary(
  lance: LanceAccess | undefined,
  { content }: Stored<TableRecord>,
): LanceLibrary | undefined {
  return content.kind === 'lance' ? lance?.library : undefined;
}

/** A version to read, with its columns. */
export interface ReadableVersion extends LanceTableVersion {
  readonly columns: LanceColumns;
}

const NO_COLUMNS: LanceColumns = {
  schema: new Schema([]),
  rowBytes: 0,
  names: [],
  vectors: [],
  texts: [],
};

/** Parts for finding a version of a Lance table. */
interface LanceReads {
  readonly tables: Pick<TableView, 'chain' | 'version'>;
  readonly tags: Pick<Tags, 'require'>;
  readonly lance?: LanceAccess | undefined;
}

/**
 * A Lance table at the version of a request or at its newest, as the catalog records it. Versions
 * that clients wrote without the catalog are adopted before.
 * @param fields Where the version and the tag stand: the body, or a query inside it.
 * @throws CatalogError TableVersionNotFound, TableTagNotFound, TableBranchNotFound.
 */
export async function libraryTable(
  { tables, tags, lance }: LanceReads,
  call: Call,
  found: Stored<TableRecord>,
  fields: Fields,
): Promise<ReadableVersion> {
  const { branch, version } = await readPlace(tags, found.content, call, fields);
  const { content } = await adoptedTable(call, found, branch);
  return versionPlace({ tables, lance }, call.request.object, content, { branch, version });
}

/**
 * A Lance table at a version of a branch, as the catalog records it.
 * @param version The newest if undefined.
 * @throws CatalogError TableVersionNotFound, TableBranchNotFound.
 */
export async function versionPlace(
  { tables, lance }: Pick<LanceReads, 'tables' | 'lance'>,
  path: ObjectPath,
  content: TableRecord,
  { branch, version }: { readonly branch: string; readonly version?: bigint | undefined },
): Promise<ReadableVersion> {
  const place = { id: content.id, path, location: locationOf(content), branch };
  const { content: at } = await tables.version(
    content,
    version,
    await tables.chain(content, branch),
  );
  const columns = (await lance?.files?.require({ ...place, at })) ?? NO_COLUMNS;
  const main = branch === MAIN ? at : (await tables.version(content)).content;
  return { ...place, at, main, columns };
}

/** Bytes that an answer of the library reserves: a piece that has arrived, and the one behind it. */
const FRAME_BYTES = 2 ** 20;

/** How often the rest of an answer is read again because the process of the library ended. */
const MAX_REPEATS = 2;

/**
 * The body of an answer of the library. The library reads again what the client has not got when
 * its process ended, or when the client paused for long. The bytes before are compared then: if they
 * differ, the answer is cut.
 */
export function libraryRows(
  library: Pick<LanceLibrary, 'reuse'>,
  run: () => Promise<AsyncGenerator<Uint8Array>>,
  memory: AnswerMemory,
  { owner, signal }: Pick<Statement, 'owner' | 'signal'>,
): Promise<ByteStream> {
  const reserved = FRAME_BYTES;
  const use = { memory, reserved, isKept: false, owner, signal };
  return reservedBody(async () => new LibraryRows(library, run, await run()), use);
}

class LibraryRows implements PortionSource {
  readonly isRepeatable = true;
  readonly #library: Pick<LanceLibrary, 'reuse'>;
  readonly #run: () => Promise<AsyncGenerator<Uint8Array>>;
  #first: AsyncGenerator<Uint8Array> | undefined;
  /** Bytes that were sent, and their CRC-32. */
  #position = 0;
  #sum = 0;
  /** The same with the portion that is handed out: its memory may be another's before its end is noted. */
  #next = { position: 0, sum: 0 };

  constructor(
    library: Pick<LanceLibrary, 'reuse'>,
    run: () => Promise<AsyncGenerator<Uint8Array>>,
    first: AsyncGenerator<Uint8Array>,
  ) {
    this.#library = library;
    this.#run = run;
    this.#first = first;
  }

  async *from(position: number): AsyncGenerator<Portion> {
    if (position !== this.#position) throw new Error('the position of this answer is not known');
    for (let repeats = 0; ; repeats++) {
      try {
        yield* this.#rest();
        return;
      } catch (error) {
        if (!(error instanceof LibraryEnded) || repeats === MAX_REPEATS) throw error;
      }
    }
  }

  interrupted(sent: Portion): void {
    const bytes = sent.reduce((sum, { byteLength }) => sum + byteLength, 0);
    if (this.#position + bytes === this.#next.position) this.#noteNext();
    else for (const piece of sent) this.#note(piece);
  }

  taken(piece: Uint8Array): void {
    this.#library.reuse(piece);
  }

  async close(): Promise<void> {
    await this.#first?.return(undefined);
    this.#first = undefined;
  }

  async *#rest(): AsyncGenerator<Portion> {
    const pieces = this.#first ?? (await this.#run());
    this.#first = undefined;
    let skipped = 0;
    let sum = 0;
    for await (const piece of pieces) {
      const old = piece.subarray(0, Math.max(0, this.#position - skipped));
      sum = crc32(old, sum);
      skipped += old.byteLength;
      if (skipped < this.#position) continue;
      if (sum !== this.#sum) throw new Error('the rows of this answer have changed');
      const fresh = piece.subarray(old.byteLength);
      if (fresh.byteLength === 0) continue;
      const position = this.#position + fresh.byteLength;
      this.#next = { position, sum: crc32(fresh, this.#sum) };
      yield [fresh];
      this.#noteNext();
      skipped = this.#position;
      sum = this.#sum;
    }
  }

  /** Notes that all of the portion was handed out. */
  #noteNext(): void {
    ({ position: this.#position, sum: this.#sum } = this.#next);
  }

  #note(piece: Uint8Array): void {
    this.#sum = crc32(piece, this.#sum);
    this.#position += piece.byteLength;
  }
}
