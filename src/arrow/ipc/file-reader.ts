import type { Data, RecordBatch, Schema } from 'apache-arrow';
import { batchOfData } from '../data.ts';
import { columnPlaces } from './column-shape.ts';
import { ArrowError, corrupt } from '../arrow-error.ts';
import { FileDictionaries } from './file-dictionaries.ts';
import { FileMessages } from './file-messages.ts';
import { type Block, decodeFooter, type Footer } from './footer.ts';
import { fileMagic } from './framing.ts';
import type { BatchHeader } from './message.ts';
import { hasDictionary, schemaOf } from '../nested-type.ts';
import type { RandomAccess } from './random-access.ts';
import type { RowRange } from './row-range.ts';
import { fieldIndex } from '../select.ts';

/** Options of reading a batch. */
interface BatchRead {
  /** These rows alone; all unless given. They must lie in the batch. */
  readonly rows?: RowRange | undefined;
  /** Through what the bytes of the rows are read, if not through the access that the file was opened with. */
  readonly access?: RandomAccess | undefined;
}

/** An Arrow IPC file, read batch by batch. */
export interface ArrowFile {
  readonly schema: Schema;
  /** How many rows each batch has. */
  readonly batchRows: readonly number[];
  readonly rows: number;
  /** How many bytes the file has of a column of a batch, both by their positions. */
  columnBytes(index: number, column: number): number;
  /** The same buffer by buffer. */
  bufferBytes(index: number, column: number): readonly number[];
  /**
   * One batch, or some of its columns in the order asked for; only their bytes
   * are read, and columns lie in the memory that was read. Throws `mismatch`
   * for a column that the file lacks, `corrupt` if the file is damaged.
   */
  readBatch(index: number, columns?: readonly string[], read?: BatchRead): Promise<RecordBatch>;
  /**
   * Some columns of a batch by their positions, at once; undefined where bytes have to be
   * waited for, or values lie in dictionaries. Throws as `readBatch` does.
   */
  columnsNow(index: number, columns: readonly number[], read?: BatchRead): Data[] | undefined;
}

/** Bytes after the footer: its length and the magic. */
export const FOOTER_END = 10;
/** Number of bytes at the file's end that are read first; most footers fit. */
const firstRead = 65_536;

/**
 * Opens an IPC file (Arrow columnar format, "IPC File Format") of one's own:
 * sizes are checked, values are not. Reads the footer and the metadata of the
 * batches. Throws `corrupt` or `unsupported`.
 * @param tail The file's last bytes with its footer, if they were read before.
 */
export async function openFile(access: RandomAccess, tail?: Uint8Array): Promise<ArrowFile> {
  const footer = await readFooter(access, tail);
  const messages = new FileMessages(access);
  const headers = (await messages.headers(footer.batches)).map((message) => {
    if (message.kind !== 'batch') throw corrupt('A batch block of a file holds no batch.');
    return message.header;
  });
  return new FileReader(messages, footer, headers);
}

/** Length of a file's footer in bytes, by the last bytes of the file. Throws `corrupt`. */
export function footerBytes(last: Uint8Array, size: number): number {
  if (size < FOOTER_END + 8) throw corrupt(`A file of ${size} bytes is not an Arrow file.`);
  const view = new DataView(last.buffer, last.byteOffset, last.byteLength);
  const magic = Buffer.from(last.subarray(last.length - fileMagic.length)).toString('latin1');
  if (magic !== fileMagic) throw corrupt('The file does not end like an Arrow file.');
  const length = view.getInt32(last.length - FOOTER_END, true);
  if (length > 0 && size - FOOTER_END - length >= 8) return length;
  throw corrupt(`The file declares a footer of ${length} bytes.`);
}

async function readFooter(access: RandomAccess, tail?: Uint8Array): Promise<Footer> {
  const { size } = access;
  const start = Math.max(0, size - firstRead);
  const last = tail ?? (await access.read(start - (start % 8), size - start + (start % 8)));
  const length = footerBytes(last, size);
  const end = size - FOOTER_END - length;
  if (length + FOOTER_END <= last.length) {
    return decodeFooter(
      last.subarray(last.length - FOOTER_END - length, last.length - FOOTER_END),
      end,
    );
  }
  const skipped = end % 8;
  const bytes = await access.read(end - skipped, length + skipped);
  return decodeFooter(bytes.subarray(skipped), end);
}

class FileReader implements ArrowFile {
  readonly schema: Schema;
  readonly batchRows: readonly number[];
  readonly rows: number;
  readonly #messages: FileMessages;
  readonly #footer: Footer;
  readonly #headers: readonly BatchHeader[];
  readonly #dictionaries: FileDictionaries;

  constructor(messages: FileMessages, footer: Footer, headers: readonly BatchHeader[]) {
    this.schema = footer.decoded.schema;
    this.batchRows = headers.map((header) => header.rows);
    this.rows = this.batchRows.reduce((sum, rows) => sum + rows, 0);
    this.#messages = messages;
    this.#footer = footer;
    this.#headers = headers;
    const ids = footer.decoded.dictionaryIds;
    this.#dictionaries = new FileDictionaries(messages, footer.dictionaries, ids);
  }

  columnBytes(index: number, column: number): number {
    return this.bufferBytes(index, column).reduce((sum, bytes) => sum + bytes, 0);
  }

  bufferBytes(index: number, column: number): readonly number[] {
    const header = this.#headers[index];
    if (header === undefined) return [];
    const place = columnPlaces(this.schema.fields, header)[column];
    if (place === undefined) return [];
    const { buffer, buffers } = place;
    return Array.from({ length: buffers }, (_, at) => header.buffers[2 * (buffer + at) + 1] ?? 0);
  }

  async readBatch(
    index: number,
    columns?: readonly string[],
    read: BatchRead = {},
  ): Promise<RecordBatch> {
    const { header, block } = this.#placed(index);
    const positions = this.#positions(columns);
    const { fields } = this.schema;
    const dictionaries = await this.#dictionaries.load(positions.map((at) => fields[at]!.type));
    const wanted = { ...read, columns: positions };
    const data = await this.#messages.columns(block, header, fields, wanted, dictionaries);
    return batchOfData(this.#projection(columns, positions), data, read.rows?.count ?? header.rows);
  }

  columnsNow(index: number, columns: readonly number[], read: BatchRead = {}): Data[] | undefined {
    const { header, block } = this.#placed(index);
    const { fields } = this.schema;
    if (columns.some((at) => hasDictionary(fields[at]!.type))) return undefined;
    return this.#messages.columnsNow(block, header, fields, { ...read, columns });
  }

  #placed(index: number): { readonly header: BatchHeader; readonly block: Block } {
    const header = this.#headers[index];
    const block = this.#footer.batches[index];
    if (header !== undefined && block !== undefined) return { header, block };
    throw new ArrowError('mismatch', `The file has no batch ${index}.`);
  }

  #positions(columns: readonly string[] | undefined): number[] {
    if (columns === undefined) return this.schema.fields.map((_, at) => at);
    return columns.map((name) => fieldIndex(this.schema, name));
  }

  #projection(columns: readonly string[] | undefined, wanted: readonly number[]): Schema {
    if (columns === undefined) return this.schema;
    const fields = wanted.map((at) => this.schema.fields[at]!);
    return schemaOf(fields, this.schema.metadata);
  }
}
