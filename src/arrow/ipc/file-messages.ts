import type { Data, Field, Vector } from 'apache-arrow';
import { bufferRegions, readCompressed } from './body.ts';
import { zstdReady } from './codec-zstd.ts';
import { ColumnCursor } from './column-cursor.ts';
import { decodeColumn } from './column-decoding.ts';
import { type ColumnPlace, columnPlaces } from './column-shape.ts';
import { sliceData } from '../data.ts';
import { corrupt } from '../arrow-error.ts';
import type { Block } from './footer.ts';
import { type BatchHeader, decodeMessage, type Message } from './message.ts';
import { type ByteRange, type RandomAccess, readRanges, readRangesNow } from './random-access.ts';
import { narrowValues } from './narrowed-values.ts';
import { narrowBatch, type NarrowedBatch, type RowRange } from './row-range.ts';

/** Number of messages that are read at once. */
const requestsAtOnce = 32;

/** Rows and columns to read of a batch. */
interface BatchSelection {
  /** Top-level columns, by their positions among all fields of the file. */
  readonly columns: readonly number[];
  /** All rows unless given. */
  readonly rows?: RowRange | undefined;
  /** Through what the bytes are read, if not through the access of the file. */
  readonly access?: RandomAccess | undefined;
}

/** Reads the messages of a file, and only the needed parts of their bodies. */
export class FileMessages {
  readonly #access: RandomAccess;

  constructor(access: RandomAccess) {
    this.#access = access;
  }

  /** The messages in some blocks, without their bodies. */
  async headers(blocks: readonly Block[]): Promise<Message[]> {
    const messages: Message[] = [];
    for (let start = 0; start < blocks.length; start += requestsAtOnce) {
      const some = blocks.slice(start, start + requestsAtOnce);
      messages.push(...(await Promise.all(some.map(async (block) => await this.#header(block)))));
    }
    return messages;
  }

  /** Some top-level columns of a batch. Reads only their buffers, and of fixed values only the rows. */
  async columns(
    block: Block,
    header: BatchHeader,
    fields: readonly Field[],
    wanted: BatchSelection,
    dictionaries: ReadonlyMap<number, Vector>,
  ): Promise<Data[]> {
    if (header.codec === 'zstd') await zstdReady;
    const access = wanted.access ?? this.#access;
    const steps = columnSteps(block, header, fields, wanted, dictionaries);
    for (let step = steps.next(); ; step = steps.next(await readRanges(access, step.value))) {
      if (step.done === true) return step.value;
    }
  }

  /** The same at once, of columns without dictionaries; undefined where their bytes have to be waited for. */
  columnsNow(
    block: Block,
    header: BatchHeader,
    fields: readonly Field[],
    wanted: BatchSelection,
  ): Data[] | undefined {
    if (header.codec !== undefined) return undefined;
    const access = wanted.access ?? this.#access;
    const steps = columnSteps(block, header, fields, wanted, new Map());
    let step = steps.next();
    while (step.done !== true) {
      const found = readRangesNow(access, step.value);
      if (found === undefined) return undefined;
      step = steps.next(found);
    }
    return step.value;
  }

  async #header(block: Block): Promise<Message> {
    const bytes = await this.#access.read(block.offset, block.metadataBytes);
    const length = new DataView(bytes.buffer, bytes.byteOffset).getInt32(4, true);
    if (length < 0 || length + 8 > bytes.length) throw corrupt('A message of a file is cut short.');
    const message = decodeMessage(bytes.subarray(8, 8 + length));
    if (message.bodyLength > block.bodyBytes)
      throw corrupt('A message of a file exceeds its block.');
    return message;
  }
}

/** Yields ranges of the file, receives their bytes, returns a result. */
type Reading<Result> = Generator<readonly ByteRange[], Result, readonly Uint8Array[]>;

type Buffers = (Uint8Array | undefined)[];

function* columnSteps(
  block: Block,
  header: BatchHeader,
  fields: readonly Field[],
  wanted: BatchSelection,
  dictionaries: ReadonlyMap<number, Vector>,
): Reading<Data[]> {
  checkRegions(block, header);
  const places = columnPlaces(fields, header);
  const columns = wanted.columns.map((index) => ({
    name: fields[index]!.name,
    type: fields[index]!.type,
    place: places[index]!,
  }));
  const part = narrowBatch(header, columns, wanted.rows ?? { start: 0, count: header.rows });
  const buffers = yield* partBuffers(block, part, columns);
  const dictionary = (id: number, name: string): Vector => {
    const found = dictionaries.get(id);
    if (found === undefined) throw corrupt(`The file has no dictionary for column "${name}".`);
    return found;
  };
  return columns.map(({ name, type, place }, at) => {
    const cursor = new ColumnCursor({ header: part.header, buffers, dictionary, start: place });
    const data = decodeColumn(type, name, cursor);
    const { read, wanted } = part.columns[at]!;
    if (data.length === read) return sliceData(data, wanted.start, wanted.count);
    throw corrupt(`Column "${name}" has ${data.length} rows, its batch has ${read}.`);
  });
}

/** Headers whose buffers were found to lie in their body; what is narrowed of one lies in it, too. */
const checked = new WeakSet<BatchHeader>();

function checkRegions(block: Block, header: BatchHeader): void {
  if (checked.has(header)) return;
  bufferRegions(header, block.bodyBytes);
  checked.add(header);
}

/** The buffers of some columns of a narrowed batch: parts that depend on offsets after these. */
function* partBuffers(
  block: Block,
  { header, columns }: NarrowedBatch,
  places: readonly { readonly place: ColumnPlace }[],
): Reading<Buffers> {
  const buffers: Buffers = Array.from({ length: header.buffers.length / 2 });
  const late = columns.flatMap((column) => column.late ?? []);
  const lateBuffers = late.map(({ values }) => values);
  const needed = buffersOf(places.map(({ place }) => place));
  const first = needed.filter((buffer) => !lateBuffers.includes(buffer));
  yield* readBuffers(buffers, block, header, first);
  if (late.length === 0) return buffers;
  for (const values of late) narrowValues(header, buffers, values);
  yield* readBuffers(buffers, block, header, lateBuffers);
  return buffers;
}

/** The positions of all buffers of some columns. */
function buffersOf(places: readonly ColumnPlace[]): readonly number[] {
  const needed = new Set<number>();
  for (const { buffer, buffers } of places) {
    for (let at = buffer; at < buffer + buffers; at++) needed.add(at);
  }
  return [...needed];
}

function* readBuffers(
  buffers: Buffers,
  block: Block,
  { codec, buffers: regions }: BatchHeader,
  needed: readonly number[],
): Reading<void> {
  const start = block.offset + block.metadataBytes;
  const found = yield needed.map((index) => {
    const [offset, length] = [regions[2 * index], regions[2 * index + 1]];
    if (offset === undefined || length === undefined) {
      throw corrupt('A batch of a file has too few buffers.');
    }
    return { offset: start + offset, length };
  });
  needed.forEach((index, at) => {
    const bytes = found[at]!;
    buffers[index] = codec === undefined ? bytes : readCompressed(bytes, codec);
  });
}
