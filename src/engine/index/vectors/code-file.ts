import { Binary, Field, Schema } from 'apache-arrow';
import { batchOfData } from '../../../arrow/data.ts';
import { xxhash32 } from '../../../arrow/ipc/codec-lz4.ts';
import { IndexFile } from '../keys/index-file.ts';
import type { SearchMetric } from '../../request/search-metric.ts';
import { bytesData } from '../../format/manifest-data.ts';
import type { OpenDataFile } from '../../format/memory/open-files.ts';
import type { FragmentIndex, IndexDefinition, TableFolder } from '../../format/snapshot.ts';
import type { CodeShape } from './code-layout.ts';

/** Names of the only column: programs that know no partitions must not take their rows for stretches. */
const COLUMN = 'codes';
const PARTED_COLUMN = 'partitions';

/** A portion, as the directory describes it. */
export interface CodePortion {
  readonly rows: number;
  readonly checksum: number;
  /** Its batch, and the row of the batch that it is; in files without partitions each is a batch. */
  readonly batch?: number;
  readonly row?: number;
  /** Number of its partition; absent in files without partitions. */
  readonly partition?: number;
  /** Distances of its vectors to the centre of the partition: one that few are below, and the greatest. */
  readonly inner?: number;
  readonly radius?: number;
  /** Greatest factor of its 8-bit codes. */
  readonly step?: number;
}

/** Directory of a code file: its last batch, as JSON. */
export interface CodeDirectory {
  readonly shape: CodeShape;
  readonly distance: SearchMetric;
  readonly portions: readonly CodePortion[];
  /** Mean of the vectors, subtracted before encoding. */
  readonly middle: readonly number[];
  readonly error: number;
  readonly step: number;
  /** Number of vectors whose distances codes cannot estimate. */
  readonly odd: number;
  /** Absent if all rows are one partition, in their order. */
  readonly partitions?: PartitionFacts;
}

/** What is known of rows of a partition. */
export type PartFacts = Required<
  Pick<CodePortion, 'rows' | 'partition' | 'inner' | 'radius' | 'step'>
>;

/** What the directory of a file says of its partitions. */
export interface PartitionFacts {
  /** Number of centres, which lie in the batch before the directory. */
  readonly count: number;
  readonly checksum: number;
  /** Cosines with which vectors of a partition may point to a query (`leastDistance`), for `NEAREST`. */
  readonly spreads: readonly number[];
}

/** Portions of partitions are written together until they have this size, in bytes. */
const BATCH_BYTES = 2 ** 21;
/** A row of a batch is read without others if its number is a multiple of this. */
const ROW_STEP = 8;

/** Writes the codes of one fragment: one portion per batch, or several of partitions. */
export class CodeWriter {
  readonly #file: IndexFile;
  readonly #schema: Schema;
  readonly #portions: CodePortion[] = [];
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #batches = 0;

  private constructor(file: IndexFile, schema: Schema) {
    this.#file = file;
    this.#schema = schema;
  }

  /** Creates a file in a table's folder. @param parted Whether it has partitions. */
  static async create(table: TableFolder, index: string, parted: boolean): Promise<CodeWriter> {
    const name = parted ? PARTED_COLUMN : COLUMN;
    const schema = new Schema([new Field(name, new Binary(), false)]);
    return new CodeWriter(await IndexFile.create(table, index, schema), schema);
  }

  /** Writes a portion of a file without partitions. */
  async portion(bytes: Uint8Array, rows: number): Promise<void> {
    this.#portions.push({ rows, checksum: xxhash32(bytes) });
    await this.#write([bytes]);
  }

  /** Writes rows of a partition. */
  async part(bytes: Uint8Array, facts: PartFacts): Promise<void> {
    const row = ROW_STEP * this.#pending.length;
    this.#portions.push({ ...facts, checksum: xxhash32(bytes), batch: this.#batches, row });
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes >= BATCH_BYTES) await this.#writeParts();
  }

  /** Writes the centres of partitions, after all portions. Returns their checksum. */
  async centres(centres: Float32Array): Promise<number> {
    await this.#writeParts();
    const bytes = new Uint8Array(centres.buffer, centres.byteOffset, centres.byteLength);
    await this.#write([bytes]);
    return xxhash32(bytes);
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
    await this.#write([Buffer.concat([checksum, text])]);
    return this.#file.finish(index);
  }

  /** Abandons and removes the file. */
  abandon(): Promise<void> {
    return this.#file.abandon();
  }

  async #writeParts(): Promise<void> {
    if (this.#pending.length === 0) return;
    const none = Array.from({ length: ROW_STEP - 1 }, () => new Uint8Array());
    const rows = this.#pending.flatMap((bytes) => [bytes, ...none]);
    this.#pending = [];
    this.#pendingBytes = 0;
    await this.#write(rows);
  }

  async #write(rows: readonly Uint8Array[]): Promise<void> {
    const data = bytesData(rows, (one) => one);
    this.#batches++;
    await this.#file.batch(batchOfData(this.#schema, [data], rows.length));
  }
}

/** Whether a file holds codes. */
export function holdsCodes({ file }: OpenDataFile): boolean {
  const [field, ...others] = file.schema.fields;
  return others.length === 0 && (field?.name === COLUMN || field?.name === PARTED_COLUMN);
}

/** Reads the directory of a code file. @throws Error if it is damaged. */
export async function codeDirectory(opened: OpenDataFile): Promise<CodeDirectory> {
  const bytes = await bytesOf(opened, opened.file.batchRows.length - 1);
  const text = bytes.subarray(4);
  const stored = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  if (xxhash32(text) !== stored) throw new Error('its last batch does not have its checksum');
  return JSON.parse(Buffer.from(text).toString()) as CodeDirectory;
}

/** Reads a portion of a file. @throws Error if it is damaged. */
export function codePortion(
  opened: OpenDataFile,
  { portions }: CodeDirectory,
  at: number,
): Promise<Uint8Array> {
  const { batch = at, row = 0, checksum } = portions[at] ?? {};
  return checkedBytes(opened, batch, row, checksum);
}

/** Reads the centres of a file with partitions. @throws Error if they are damaged. */
export function codeCentres(
  opened: OpenDataFile,
  { partitions }: CodeDirectory,
): Promise<Uint8Array> {
  return checkedBytes(opened, opened.file.batchRows.length - 2, 0, partitions?.checksum);
}

/** Verifies a code file. @throws Error for the first damage. */
export async function checkCodes(opened: OpenDataFile): Promise<void> {
  const directory = await codeDirectory(opened);
  for (const at of directory.portions.keys()) await codePortion(opened, directory, at);
  if (directory.partitions !== undefined) await codeCentres(opened, directory);
}

async function checkedBytes(
  opened: OpenDataFile,
  batch: number,
  row: number,
  checksum: number | undefined,
): Promise<Uint8Array> {
  const bytes = await bytesOf(opened, batch, row);
  if (xxhash32(bytes) === checksum) return bytes;
  throw new Error(`its batch ${batch} does not have its checksum`);
}

/** The bytes of a row of a batch. */
async function bytesOf({ file }: OpenDataFile, at: number, row = 0): Promise<Uint8Array> {
  const name = file.schema.fields[0]?.name ?? COLUMN;
  const batch = await file.readBatch(at, [name], { rows: { start: row, count: 1 } });
  const data = batch.data.children[0];
  const offsets: Int32Array | undefined = data?.valueOffsets;
  const values: Uint8Array | undefined = data?.values;
  if (offsets === undefined || values === undefined) throw new Error(`its batch ${at} is empty`);
  return values.subarray(offsets[0], offsets[1]);
}
