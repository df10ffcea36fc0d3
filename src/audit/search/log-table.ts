import { isMissing } from '../../storage/storage-error.ts';
import { readUpTo } from '../../storage/open-object.ts';
import { openLogFile } from '../chain/log-files.ts';
import { Schema, type RecordBatch } from 'apache-arrow';
import { batchOfData } from '../../arrow/data.ts';
import { schemaOf } from '../../arrow/nested-type.ts';
import { projectColumns, slice } from '../../arrow/select.ts';
import type { OpenPart, VirtualPart, VirtualTable } from '../../protocol/virtual-table.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { decodeRecord, RecordFault } from '../record/decoding.ts';
import type { LoggedRecord } from '../record/record.ts';
import { allPartsOf, logPartsOf, sealedPart, type LogPart } from '../segments/log-part.ts';
import { batchOfRecords, recordFields } from '../record/columns.ts';
import { openSegment, withSegment, type OpenSegment } from '../segments/segment-file.ts';
import { microsOf } from '../record/time.ts';

const schema = new Schema([...recordFields]);

/** Where the logs of other gateways come from. */
export interface OtherLogs {
  /** Brings what their gateways wrote. @throws CatalogError */
  readonly refresh: () => Promise<void>;
  /** Brings a segment, if it is one of theirs. @throws CatalogError */
  readonly bring: (path: string) => Promise<void>;
}

/** The records of an audit folder, attempts and outcomes, as the table `system$audit`. */
export function logTable(folder: string, others?: OtherLogs): VirtualTable {
  const indices = new LineIndices();
  return {
    path: ['system', 'audit'],
    schema,
    parts: async () => {
      await others?.refresh();
      const found = await readable(others === undefined ? logPartsOf(folder) : allPartsOf(folder));
      indices.keepOnly(found);
      const parts: VirtualPart[] = [];
      for (const part of found) parts.push(await virtualPart(part, indices, others));
      return parts;
    },
  };
}

async function virtualPart(
  part: LogPart,
  indices: LineIndices,
  others: OtherLogs | undefined,
): Promise<VirtualPart> {
  if (part.seal !== undefined) return segmentPart(part, others);
  try {
    return await linesPart(part, indices);
  } catch (error) {
    const sealed = isMissing(error) ? await sealedPart(part) : undefined;
    if (sealed === undefined) throw error;
    return segmentPart(sealed);
  }
}

/** A segment, with the record count and the time range of its seal. */
function segmentPart({ file, seal }: LogPart, others?: OtherLogs): VirtualPart {
  const { before, after, from, to } = seal!;
  const time = { least: microsOf(from), greatest: microsOf(to) };
  return {
    rows: Number(after.count - before.count),
    bounds: new Map([['time', time]]),
    open: async () => {
      await others?.bring(file.path);
      return openedSegment(file.path, seal?.portions);
    },
  };
}

async function openedSegment(path: string, portions: string | undefined): Promise<OpenPart> {
  const segment = await readable(openSegment(path, portions));
  const { file } = segment;
  return {
    batchRows: file.batchRows,
    read: async (index, columns) =>
      inSchema(await readable(file.readBatch(index, columns)), columns),
    close: async () => segment.close(),
  };
}

/** The same; damage of a file is an error that callers of the table understand. @throws CatalogError Internal */
async function readable<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof RecordFault) throw new CatalogError('Internal', error.message);
    throw error;
  }
}

/** A file of lines with its current content; it may grow. */
async function linesPart(part: LogPart, indices: LineIndices): Promise<VirtualPart> {
  const lines = await indices.of(part.file.path);
  return { rows: lines.rows, bounds: new Map(), open: async () => openedLines(part, lines) };
}

function openedLines(part: LogPart, lines: LineIndex): OpenPart {
  return {
    batchRows: lines.batchRows,
    read: async (index, columns) => {
      try {
        return projectColumns(batchOfRecords(schema, await lines.records(index)), columns);
      } catch (error) {
        const sealed = isMissing(error) ? await sealedPart(part) : undefined;
        if (sealed === undefined) throw error;
        return sameRows(sealed, lines, index, columns);
      }
    },
    close: async () => undefined,
  };
}

/** Rows of lines that were sealed while the table was read. */
async function sameRows(
  { file, seal }: LogPart,
  lines: LineIndex,
  index: number,
  columns: readonly string[],
): Promise<RecordBatch> {
  const read = async (segment: OpenSegment): Promise<RecordBatch> => {
    let first = lines.batchRows.slice(0, index).reduce((sum, rows) => sum + rows, 0);
    // A batch of a segment consists of whole batches of lines.
    const at = segment.file.batchRows.findIndex((rows) => {
      if (first < rows) return true;
      first -= rows;
      return false;
    });
    const batch = await segment.file.readBatch(at, columns);
    return inSchema(slice(batch, first, lines.batchRows[index]!), columns);
  };
  return readable(withSegment(file.path, read, seal?.portions));
}

/** The batch with the schema of the table: types of files may differ in ids of dictionaries. */
function inSchema(batch: RecordBatch, columns: readonly string[]): RecordBatch {
  const fields = columns.map((name) => recordFields.find((field) => field.name === name)!);
  return batchOfData(schemaOf(fields, schema.metadata), batch.data.children, batch.numRows);
}

const NEWLINE = 0x0a;
/** Records of a batch: the batches of a segment hold several of these. */
const BATCH_ROWS = 1024;
const PIECE_BYTES = 2 ** 20;

interface Stretch {
  readonly start: number;
  readonly end: number;
  readonly rows: number;
}

/** Positions of the records in a file of lines, in batches, up to a given size. */
class LineIndex {
  readonly rows: number;
  readonly batchRows: readonly number[];
  readonly #path: string;
  readonly #stretches: readonly Stretch[];

  constructor(path: string, stretches: readonly Stretch[]) {
    this.#path = path;
    this.#stretches = stretches;
    this.batchRows = stretches.map(({ rows }) => rows);
    this.rows = this.batchRows.reduce((sum, rows) => sum + rows, 0);
  }

  /** The records of a batch. @throws RecordFault for a line that is none */
  async records(index: number): Promise<readonly LoggedRecord[]> {
    const { start, end } = this.#stretches[index]!;
    const file = openLogFile(this.#path);
    try {
      const bytes = Buffer.alloc(end - start);
      await readUpTo(file, bytes, start);
      return bytes.toString().split('\n').slice(0, -1).map(decodeRecord);
    } finally {
      file.close();
    }
  }
}

/**
 * The lines of the files that grow. Each file is read once from its beginning, and then where it has
 * grown; one file at a time, so that any number of queries needs the memory of one.
 */
class LineIndices {
  readonly #counters = new Map<string, LineCounter>();
  #last: Promise<unknown> = Promise.resolve();

  /** Counts the whole lines of a file. @throws an error that `isMissing` if there is none */
  of(path: string): Promise<LineIndex> {
    const index = this.#last.then(() => this.#read(path));
    this.#last = index.catch(() => undefined);
    return index;
  }

  /** Forgets the files that are not among these. */
  keepOnly(parts: readonly LogPart[]): void {
    const paths = new Set(parts.map(({ file }) => file.path));
    for (const path of this.#counters.keys()) if (!paths.has(path)) this.#counters.delete(path);
  }

  async #read(path: string): Promise<LineIndex> {
    const file = openLogFile(path);
    try {
      const size = file.size();
      let counter = this.#counters.get(path);
      // What was not durable is cut off after a write that failed.
      if (counter === undefined || counter.end > size) counter = new LineCounter();
      this.#counters.delete(path);
      const bytes = Buffer.allocUnsafe(Math.min(PIECE_BYTES, size - counter.end));
      for (let at = counter.end; at < size;) {
        const read = await file.read(bytes.subarray(0, size - at), at);
        if (read === 0) break;
        counter.take(bytes.subarray(0, read), at);
        at += read;
      }
      this.#counters.set(path, counter);
      return new LineIndex(path, counter.stretches());
    } finally {
      file.close();
    }
  }
}

/** Counts lines of a file that grows. */
class LineCounter {
  readonly #whole: Stretch[] = [];
  #start = 0;
  #end = 0;
  #rows = 0;

  /** Position behind the last whole line. */
  get end(): number {
    return this.#end;
  }

  take(bytes: Buffer, at: number): void {
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, end + 1)) {
      this.#end = at + end + 1;
      this.#rows += 1;
      if (this.#rows === BATCH_ROWS) this.#cut();
    }
  }

  /** The lines so far; the last stretch may be short. */
  stretches(): readonly Stretch[] {
    const rest = { start: this.#start, end: this.#end, rows: this.#rows };
    return rest.rows > 0 ? [...this.#whole, rest] : [...this.#whole];
  }

  #cut(): void {
    this.#whole.push({ start: this.#start, end: this.#end, rows: this.#rows });
    this.#start = this.#end;
    this.#rows = 0;
  }
}
