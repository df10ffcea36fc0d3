import { createHash, randomUUID, type Hash } from 'node:crypto';
import { Schema, type RecordBatch } from 'apache-arrow';
import { openFile, type ArrowFile } from '../../arrow/ipc/file-reader.ts';
import { FileWriter } from '../../arrow/ipc/file-writer.ts';
import { int64Values, textReader } from '../../arrow/value-column.ts';
import { validateColumns } from '../../arrow/validate.ts';
import { readUpTo } from '../../storage/open-object.ts';
import type { NewObject, OpenObject } from '../../storage/storage.ts';
import { hashAfter, type ChainHead } from '../chain/hash-chain.ts';
import { lineBatches, logStorage, openLogFile } from '../chain/log-files.ts';
import { recordPrefix, recordText } from '../record/encoding.ts';
import {
  hasRecordColumns,
  recordAt,
  RecordColumns,
  recordFields,
  withLaterColumns,
  withNewParts,
} from '../record/columns.ts';
import { columnOf, RecordTexts } from '../record/record-texts.ts';
import { decodeRecord, otherVersion } from '../record/decoding.ts';
import { SegmentChecks, SegmentSums } from './portions.ts';
import type { LoggedRecord } from '../record/record.ts';
import type { RandomAccess } from '../../arrow/ipc/random-access.ts';

const FIRST_BYTES = 2 ** 20;
/** Alignment of Arrow's buffers, in bytes. */
const ALIGNMENT = 64;
/** Reads of at most this many bytes are synchronous. */
const SYNC_BYTES = 2 ** 16;

/**
 * Reads a file into reused memory: bytes are valid until `reset`. Reads are synchronous,
 * which is several times faster where the system caches the file.
 */
class ScratchReads implements RandomAccess {
  readonly size: number;
  readonly #object: OpenObject;
  readonly #access: RandomAccess;
  #memory = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #used = 0;
  #wanted = 0;

  constructor(object: OpenObject, checks: SegmentChecks | undefined) {
    this.#object = object;
    this.size = object.size();
    const plain: RandomAccess = {
      size: this.size,
      read: (offset, length) => this.#fill(offset, length),
    };
    this.#access = checks?.over(plain) ?? plain;
  }

  /** Reuses the memory: bytes that were read before become invalid. */
  reset(): void {
    if (this.#wanted > this.#memory.length) this.#memory = Buffer.allocUnsafeSlow(this.#wanted);
    this.#used = 0;
    this.#wanted = 0;
  }

  /** Gives memory back that only a large batch needs; bytes that were read before become invalid. */
  release(): void {
    if (this.#memory.length > FIRST_BYTES) this.#memory = Buffer.allocUnsafeSlow(FIRST_BYTES);
    this.#used = 0;
    this.#wanted = 0;
  }

  read(offset: number, length: number): Promise<Uint8Array> {
    return this.#access.read(offset, length);
  }

  async #fill(offset: number, length: number): Promise<Uint8Array> {
    const bytes = this.#take(length);
    for (let done = 0; done < length;) {
      const piece = bytes.subarray(done, done + SYNC_BYTES);
      const read =
        this.#object.readNow(piece, offset + done) ??
        (await this.#object.read(piece, offset + done));
      if (read === 0) return bytes.subarray(0, done);
      done += read;
    }
    return bytes;
  }

  #take(length: number): Uint8Array {
    const room = Math.ceil(length / ALIGNMENT) * ALIGNMENT;
    this.#wanted += room;
    if (this.#used + room > this.#memory.length) {
      const { buffer, byteOffset } = Buffer.allocUnsafeSlow(length);
      return new Uint8Array(buffer, byteOffset, length);
    }
    const start = this.#memory.byteOffset + this.#used;
    this.#used += room;
    return new Uint8Array(this.#memory.buffer, start, length);
  }
}

/** Rows per batch. */
const BATCH_ROWS = 16_384;

/** The result of sealing a file of lines. */
export interface WrittenSegment {
  readonly after: ChainHead;
  readonly from: string;
  readonly to: string;
  /** SHA-256 of the file, in hexadecimal. */
  readonly sha256: string;
  /** CRC-32 of each portion of the file, from `SegmentSums`. */
  readonly portions: string;
}

/** A file of lines with a broken chain, or whose records cannot be restored from columns. */
export class UnfitSegment extends Error {}

/**
 * Writes the records of a file of lines as an Arrow file, which gets its name when it is
 * complete and durable. Every record is encoded again from its columns and must have the
 * hash of its line.
 * @throws UnfitSegment; then there is no file.
 */
export async function writeSegment(
  lines: string,
  path: string,
  before: ChainHead,
): Promise<WrittenSegment> {
  // A name of its own for each: processes in containers may share a number.
  const temporary = `${path}.${randomUUID()}.tmp`;
  const file = logStorage.create(temporary, { mode: 0o600, links: 'all' });
  try {
    const segment = new SegmentWriter(file, before);
    for await (const batch of lineBatches(lines)) {
      for (const line of batch) {
        const written = segment.add(decodeRecord(line));
        if (written !== undefined) await written;
      }
    }
    const written = await segment.end();
    await file.sync();
    logStorage.rename(temporary, path);
    return written;
  } catch (error) {
    await file.abandon();
    logStorage.discard(temporary);
    throw error;
  }
}

class SegmentWriter {
  readonly #file: NewObject;
  readonly #schema = new Schema([...recordFields]);
  readonly #writer = new FileWriter(this.#schema);
  readonly #columns = new RecordColumns();
  readonly #digest: Hash = createHash('sha256');
  readonly #sums = new SegmentSums();
  #head: ChainHead;
  #from: string | undefined;
  #to = '';

  constructor(file: NewObject, before: ChainHead) {
    this.#file = file;
    this.#head = before;
  }

  /** Adds a record, and writes a batch if it is complete. */
  add(record: LoggedRecord): Promise<void> | undefined {
    const { time } = record;
    if (this.#from === undefined || time < this.#from) this.#from = time;
    if (time > this.#to) this.#to = time;
    this.#columns.add(record);
    return this.#columns.rows < BATCH_ROWS ? undefined : this.#flush();
  }

  async #flush(): Promise<void> {
    if (this.#writer.bytes === 0) await this.#put(this.#writer.begin());
    const batch = this.#columns.take(this.#schema);
    const { head, broken } = followBatch(this.#head, batch);
    if (broken !== undefined) {
      throw new UnfitSegment(`record ${head.count + 1n} does not follow from the one before`);
    }
    this.#head = head;
    for (const piece of this.#writer.batch(batch)) await this.#put(piece);
  }

  async end(): Promise<WrittenSegment> {
    if (this.#from === undefined) throw new UnfitSegment('the file holds no record');
    if (this.#columns.rows > 0) await this.#flush();
    await this.#put(this.#writer.end());
    const sha256 = this.#digest.digest('hex');
    const portions = this.#sums.text();
    return { after: this.#head, from: this.#from, to: this.#to, sha256, portions };
  }

  async #put(bytes: Uint8Array): Promise<void> {
    this.#digest.update(bytes);
    this.#sums.add(bytes);
    await this.#file.write([bytes]);
  }
}

/** Head of the chain after the intact rows of a batch, and the first row that breaks it. */
export function followBatch(
  from: ChainHead,
  batch: RecordBatch,
): { readonly head: ChainHead; readonly broken?: LoggedRecord } {
  const texts = new RecordTexts(batch);
  const sequences = columnOf(batch, 'sequence');
  const written = textReader(columnOf(batch, 'hash'));
  let { count, hash } = from;
  for (let row = 0; row < batch.numRows; row++) {
    const sequence = int64Values.read(sequences, row)!;
    const next = hashAfter(hash, texts.place(row) + texts.at(row));
    if (next !== written(row) || sequence !== count + 1n) {
      return { head: { count, hash }, broken: recordAt(batch, row) };
    }
    count = sequence;
    hash = next;
  }
  return { head: { count, hash } };
}

/** Hash of a record that follows a head of the chain. */
export function hashOfRecord({ hash }: ChainHead, record: LoggedRecord): string {
  return hashAfter(hash, recordPrefix(record.instance, record.sequence) + recordText(record));
}

/** The file of a segment, with the columns of this version of the program. */
type SegmentFile = Pick<ArrowFile, 'batchRows' | 'readBatch'>;

/** An open segment; its caller closes it. */
export interface OpenSegment {
  readonly file: SegmentFile;
  /** Reads batches synchronously, for sequential readers. */
  readonly scratch: ScratchReads;
  close(): void;
}

/**
 * Opens a segment's file.
 * @param portions Checksums of its seal, which every read compares first. Absent in seals of an
 *   earlier version, and to examine a file that is damaged.
 * @throws ArrowError or RecordFault if it is damaged, RecordFault if another version wrote it
 */
export async function openSegment(path: string, portions?: string): Promise<OpenSegment> {
  const object = openLogFile(path);
  try {
    const size = object.size();
    const checks = portions === undefined ? undefined : new SegmentChecks(path, size, portions);
    const read = async (offset: number, length: number): Promise<Uint8Array> => {
      // Memory of its own, which begins on a boundary of 8 bytes.
      const bytes = Buffer.allocUnsafeSlow(length);
      const filled = await readUpTo(object, bytes, offset);
      return new Uint8Array(bytes.buffer, bytes.byteOffset, filled);
    };
    const access = checks?.over({ size, read }) ?? { size, read };
    return {
      file: checked(requireColumns(await openFile(access), path)),
      scratch: new ScratchReads(object, checks),
      close: () => object.close(),
    };
  } catch (error) {
    object.close();
    throw error;
  }
}

/** Checks the columns, because records are read by their positions, which may differ between versions. */
function requireColumns(file: ArrowFile, path: string): ArrowFile {
  if (hasRecordColumns(file.schema.fields)) return file;
  throw otherVersion(`the segment ${path} has other columns`);
}

/** The file with validation of every batch, so that a manipulated file is an error and never a crash. */
function checked(file: ArrowFile): SegmentFile {
  const names = recordFields.map(({ name }) => name);
  const isStored = (column: string) => file.schema.fields.some(({ name }) => name === column);
  return {
    batchRows: file.batchRows,
    readBatch: async (index, columns = names, read = {}) => {
      const stored = columns.filter(isStored);
      const batch = await file.readBatch(index, stored, read);
      validateColumns(batch.schema.fields, batch.data.children);
      const known = withNewParts(batch);
      return stored.length === columns.length ? known : withLaterColumns(known, columns);
    },
  };
}

/** Opens a segment, uses it and closes it. @throws as `openSegment` */
export async function withSegment<Result>(
  path: string,
  use: (segment: OpenSegment) => Promise<Result>,
  portions?: string,
): Promise<Result> {
  const segment = await openSegment(path, portions);
  try {
    return await use(segment);
  } finally {
    segment.close();
  }
}

/** Batches of a segment in order, with some of its columns or all. @throws ArrowError if it is damaged */
export async function* batchesOfSegment(
  { file }: OpenSegment,
  columns?: readonly string[],
): AsyncGenerator<RecordBatch> {
  for (let index = 0; index < file.batchRows.length; index++)
    yield await file.readBatch(index, columns);
}

/** Records of a segment in order. @throws ArrowError, RecordFault if it is damaged */
export async function* recordsOfSegment(
  path: string,
  portions?: string,
): AsyncGenerator<LoggedRecord> {
  const segment = await openSegment(path, portions);
  try {
    for await (const batch of batchesOfSegment(segment)) {
      for (let row = 0; row < batch.numRows; row++) yield recordAt(batch, row);
    }
  } finally {
    segment.close();
  }
}
