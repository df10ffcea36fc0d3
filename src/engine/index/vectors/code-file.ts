import { Binary, Field, Schema } from 'apache-arrow';
import { batchOfData } from '../../../arrow/data.ts';
import { xxhash32 } from '../../../arrow/ipc/codec-lz4.ts';
import { IndexFile } from '../keys/index-file.ts';
import type { SearchMetric } from '../../request/search-metric.ts';
import { bytesData } from '../../format/manifest-data.ts';
import type { OpenDataFile } from '../../format/memory/open-files.ts';
import type { FragmentIndex, IndexDefinition } from '../../format/snapshot.ts';

/** Rows stand in blocks of so many. */
export const BLOCK_ROWS = 16;
/** Portions of a file have about so many bytes. */
const PORTION_BYTES = 2 ** 21;
/** The longest vectors that are indexed: sums of the kernels hold no more. */
export const MOST_NUMBERS = 4096;

/** Of what codes are made. */
export interface CodeShape {
  /** How many numbers, or bits, a vector has. */
  readonly size: number;
  /** Whether vectors are their own bits: then one bit says all. */
  readonly whole: boolean;
}

/** Where the parts of a portion of codes lie, in bytes from its start. */
export interface CodeLayout {
  /** Rows with those that fill the last block. */
  readonly rows: number;
  /** Bytes of one bit a number of one row. */
  readonly bitBytes: number;
  /** The bits, block by block; they begin at 0. */
  readonly first: number;
  readonly second: number;
  readonly codes: number;
  /** Bytes of a row's codes of eight bits, with its factor before them; 0 when there are none. */
  readonly stride: number;
  readonly bytes: number;
}

/** The layout of a portion of so many rows. */
export function layoutOf({ size, whole }: CodeShape, count: number): CodeLayout {
  const rows = Math.ceil(count / BLOCK_ROWS) * BLOCK_ROWS;
  const bitBytes = 2 * Math.ceil(size / 16);
  const first = rows * bitBytes;
  const second = first + 4 * rows;
  const codes = second + 4 * rows;
  const stride = whole ? 0 : 4 + 16 * Math.ceil(size / 16);
  return { rows, bitBytes, first, second, codes, stride, bytes: codes + stride * rows };
}

/** How many rows a portion has, but for the last of a file. */
export function portionRows(shape: CodeShape): number {
  const each = layoutOf(shape, BLOCK_ROWS).bytes / BLOCK_ROWS;
  return Math.max(1, Math.floor(PORTION_BYTES / each / BLOCK_ROWS)) * BLOCK_ROWS;
}

/** How much of the memory of codes the queries use, before the first portion. */
const TABLE_BYTES = 16 * (MOST_NUMBERS / 4);
const QUERY_BYTES = 2 * MOST_NUMBERS;
/** Rows that are looked at in one call. */
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

/** What a file says of its codes: its last batch, as JSON. */
export interface CodeDirectory {
  readonly shape: CodeShape;
  readonly distance: SearchMetric;
  readonly portions: readonly { readonly rows: number; readonly checksum: number }[];
  /** The middle of the vectors, which codes are counted from. */
  readonly middle: readonly number[];
  readonly error: number;
  readonly step: number;
  /** How many vectors have distances that codes cannot tell. */
  readonly odd: number;
}

/** Writes the codes of one fragment. Each batch of the file is a portion. */
export class CodeWriter {
  readonly #file: IndexFile;
  readonly #portions: { rows: number; checksum: number }[] = [];

  private constructor(file: IndexFile) {
    this.#file = file;
  }

  /** Begins a new file in a table's folder. */
  static async create(folder: string, index: string): Promise<CodeWriter> {
    return new CodeWriter(await IndexFile.create(folder, index, schema));
  }

  async portion(bytes: Uint8Array, rows: number): Promise<void> {
    this.#portions.push({ rows, checksum: xxhash32(bytes) });
    await this.#write(bytes);
  }

  /** Ends the file. It and its name are on stable storage when this returns. */
  async finish(
    index: IndexDefinition,
    known: Omit<CodeDirectory, 'portions'>,
  ): Promise<FragmentIndex> {
    const directory: CodeDirectory = { ...known, portions: this.#portions };
    const text = Buffer.from(JSON.stringify(directory));
    const checksum = Buffer.alloc(4);
    checksum.writeUInt32LE(xxhash32(text));
    await this.#write(Buffer.concat([checksum, text]));
    return this.#file.finish(index);
  }

  /** Gives the file up and removes it. */
  abandon(): Promise<void> {
    return this.#file.abandon();
  }

  async #write(bytes: Uint8Array): Promise<void> {
    const data = bytesData([bytes], (one) => one);
    await this.#file.batch(batchOfData(schema, [data], 1));
  }
}

/** Whether a file is one of codes. */
export function holdsCodes({ file }: OpenDataFile): boolean {
  return file.schema.fields.length === 1 && file.schema.fields[0]?.name === COLUMN;
}

/** What a file says of its codes. @throws Error when that is damaged. */
export async function codeDirectory(opened: OpenDataFile): Promise<CodeDirectory> {
  const bytes = await batchBytes(opened, opened.file.batchRows.length - 1);
  const text = bytes.subarray(4);
  const said = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  if (xxhash32(text) !== said) throw new Error('its last batch does not have its checksum');
  return JSON.parse(Buffer.from(text).toString()) as CodeDirectory;
}

/** The portions of a file, one after the other. @throws Error for one that is damaged. */
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

/** Reads a file of codes to its end. @throws Error for the first thing that is damaged. */
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
