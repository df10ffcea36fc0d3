import { Binary, Field, Schema } from 'apache-arrow';
import { batchOfData } from '../../arrow/batch.ts';
import { xxhash32 } from '../../arrow/xxhash32.ts';
import { IndexFile } from '../index/index-file.ts';
import type { SearchMetric } from '../query/search-metric.ts';
import { bytesData } from '../table/manifest-data.ts';
import type { OpenDataFile } from '../table/open-files.ts';
import type { FragmentIndex, IndexDefinition } from '../table/snapshot.ts';
import type { CodeShape } from './code-layout.ts';

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
