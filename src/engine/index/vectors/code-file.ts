import { Binary, Field, Schema } from 'apache-arrow';
import { batchOfData } from '../../../arrow/data.ts';
import { xxhash32 } from '../../../arrow/ipc/codec-lz4.ts';
import { IndexFile } from '../keys/index-file.ts';
import type { SearchMetric } from '../../request/search-metric.ts';
import { bytesData } from '../../format/manifest-data.ts';
import type { OpenDataFile } from '../../format/memory/open-files.ts';
import type { FragmentIndex, IndexDefinition, TableFolder } from '../../format/snapshot.ts';

/** Rows per block. */
export const BLOCK_ROWS = 16;
/** Approximate size of a portion, in bytes. */
const PORTION_BYTES = 2 ** 21;
/** Most numbers of an indexed vector: the sums of the kernels hold no more. */
export const MOST_NUMBERS = 4096;

/** Shape of encoded vectors. */
export interface CodeShape {
  /** Number of values, or bits, of a vector. */
  readonly size: number;
  /** Whether vectors are bits themselves: then one bit per value is exact. */
  readonly whole: boolean;
}

/** Offsets of the parts of a portion, in bytes. */
export interface CodeLayout {
  /** Number of rows, padded to whole blocks. */
  readonly rows: number;
  /** Bytes of a row with one bit per value. */
  readonly bitBytes: number;
  /** Size of the bits, which are stored block by block from offset 0. */
  readonly first: number;
  readonly second: number;
  readonly codes: number;
  /** Bytes of a row's 8-bit codes with the factor before them; 0 without such codes. */
  readonly stride: number;
  readonly bytes: number;
}

/** The layout of a portion with a number of rows. */
export function codeLayout({ size, whole }: CodeShape, count: number): CodeLayout {
  const rows = Math.ceil(count / BLOCK_ROWS) * BLOCK_ROWS;
  const bitBytes = 2 * Math.ceil(size / 16);
  const first = rows * bitBytes;
  const second = first + 4 * rows;
  const codes = second + 4 * rows;
  const stride = whole ? 0 : 4 + 16 * Math.ceil(size / 16);
  return { rows, bitBytes, first, second, codes, stride, bytes: codes + stride * rows };
}

/** Number of rows of a portion; the last one of a file may have fewer. */
export function portionRows(shape: CodeShape): number {
  const each = codeLayout(shape, BLOCK_ROWS).bytes / BLOCK_ROWS;
  return Math.max(1, Math.floor(PORTION_BYTES / each / BLOCK_ROWS)) * BLOCK_ROWS;
}

/** Memory reserved for queries before the first portion, in bytes. */
const TABLE_BYTES = 16 * (MOST_NUMBERS / 4);
const QUERY_BYTES = 2 * MOST_NUMBERS;
/** Rows per kernel call. */
export const CALL_ROWS = 4096;
export const SCRATCH = {
  tables: 0,
  query: TABLE_BYTES,
  rows: TABLE_BYTES + QUERY_BYTES,
  distances: TABLE_BYTES + QUERY_BYTES + 4 * CALL_ROWS,
  bytes: TABLE_BYTES + QUERY_BYTES + 8 * CALL_ROWS,
} as const;

const COLUMN = 'codes';
const schema = new Schema([new Field(COLUMN, new Binary(), false)]);

/** Directory of a code file: its last batch, as JSON. */
export interface CodeDirectory {
  readonly shape: CodeShape;
  readonly distance: SearchMetric;
  readonly portions: readonly { readonly rows: number; readonly checksum: number }[];
  /** Mean of the vectors, subtracted before encoding. */
  readonly middle: readonly number[];
  readonly error: number;
  readonly step: number;
  /** Number of vectors whose distances codes cannot estimate. */
  readonly odd: number;
}

/** Writes the codes of one fragment, one portion per batch. */
export class CodeWriter {
  readonly #file: IndexFile;
  readonly #portions: { rows: number; checksum: number }[] = [];

  private constructor(file: IndexFile) {
    this.#file = file;
  }

  /** Creates a file in a table's folder. */
  static async create(table: TableFolder, index: string): Promise<CodeWriter> {
    return new CodeWriter(await IndexFile.create(table, index, schema));
  }

  async portion(bytes: Uint8Array, rows: number): Promise<void> {
    this.#portions.push({ rows, checksum: xxhash32(bytes) });
    await this.#write(bytes);
  }

  /** Finishes the file. The file and its name are durable when this returns. */
  async finish(
    index: IndexDefinition,
    header: Omit<CodeDirectory, 'portions'>,
  ): Promise<FragmentIndex> {
    const directory: CodeDirectory = { ...header, portions: this.#portions };
    const text = Buffer.from(JSON.stringify(directory));
    const checksum = Buffer.alloc(4);
    checksum.writeUInt32LE(xxhash32(text));
    await this.#write(Buffer.concat([checksum, text]));
    return this.#file.finish(index);
  }

  /** Abandons and removes the file. */
  abandon(): Promise<void> {
    return this.#file.abandon();
  }

  async #write(bytes: Uint8Array): Promise<void> {
    const data = bytesData([bytes], (one) => one);
    await this.#file.batch(batchOfData(schema, [data], 1));
  }
}

/** Whether a file holds codes. */
export function holdsCodes({ file }: OpenDataFile): boolean {
  return file.schema.fields.length === 1 && file.schema.fields[0]?.name === COLUMN;
}

/** Reads the directory of a code file. @throws Error if it is damaged. */
export async function codeDirectory(opened: OpenDataFile): Promise<CodeDirectory> {
  const bytes = await batchBytes(opened, opened.file.batchRows.length - 1);
  const text = bytes.subarray(4);
  const stored = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  if (xxhash32(text) !== stored) throw new Error('its last batch does not have its checksum');
  return JSON.parse(Buffer.from(text).toString()) as CodeDirectory;
}

/** Reads the portions of a file in order. @throws Error for a damaged one. */
export async function* codePortions(
  opened: OpenDataFile,
  { portions }: CodeDirectory,
): AsyncGenerator<{ readonly bytes: Uint8Array; readonly rows: number }> {
  for (const [at, { rows, checksum }] of portions.entries()) {
    const bytes = await batchBytes(opened, at);
    if (xxhash32(bytes) !== checksum) throw new Error(`its batch ${at} does not have its checksum`);
    yield { bytes, rows };
  }
}

/** Verifies a code file. @throws Error for the first damage. */
export async function checkCodes(opened: OpenDataFile): Promise<void> {
  for await (const portion of codePortions(opened, await codeDirectory(opened))) void portion;
}

async function batchBytes({ file }: OpenDataFile, at: number): Promise<Uint8Array> {
  const batch = await file.readBatch(at, [COLUMN]);
  const data = batch.data.children[0];
  const offsets: Int32Array | undefined = data?.valueOffsets;
  const values: Uint8Array | undefined = data?.values;
  if (offsets === undefined || values === undefined) throw new Error(`its batch ${at} is empty`);
  return values.subarray(offsets[0], offsets[1]);
}
