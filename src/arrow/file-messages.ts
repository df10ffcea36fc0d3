import type { Data, Field, Vector } from 'apache-arrow';
import { bufferRegions, readCompressed } from './body.ts';
import { zstdReady } from './codec-zstd.ts';
import { ColumnCursor } from './column-cursor.ts';
import { decodeColumn } from './column-decoding.ts';
import { type ColumnPlace, placesOf } from './column-shape.ts';
import { sliceData } from './data.ts';
import { corrupt } from './errors.ts';
import type { Block } from './footer.ts';
import { type BatchHeader, decodeMessage, type Message } from './message.ts';
import { type RandomAccess, readRanges } from './random-access.ts';
import { narrow, type RowRange } from './row-range.ts';

/** How many messages are asked for at once. */
const requestsAtOnce = 32;

/** What is wanted of a batch. */
export interface Wanted {
  /** Top-level columns, by their positions among all fields of the file. */
  readonly columns: readonly number[];
  /** All rows unless given. */
  readonly rows?: RowRange | undefined;
  /** Through what the bytes are read, if not through the access of the file. */
  readonly access?: RandomAccess | undefined;
}

/** Reads the messages of a file, of their bodies only what is needed. */
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
    wanted: Wanted,
    dictionaries: ReadonlyMap<number, Vector>,
  ): Promise<Data[]> {
    const types = fields.map((field) => field.type);
    const places = placesOf(types, header);
    const columns = wanted.columns.map((index) => ({
      name: fields[index]!.name,
      type: types[index]!,
      place: places[index]!,
    }));
    const rows = wanted.rows ?? { start: 0, count: header.rows };
    const part = narrow(header, columns, rows);
    const needed = buffersOf(columns.map(({ place }) => place));
    const access = wanted.access ?? this.#access;
    const buffers = await readBuffers(access, block, part.header, needed);
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

/** The positions of all buffers of some columns. */
function buffersOf(places: readonly ColumnPlace[]): readonly number[] {
  const needed = new Set<number>();
  for (const { buffer, buffers } of places) {
    for (let at = buffer; at < buffer + buffers; at++) needed.add(at);
  }
  return [...needed];
}

async function readBuffers(
  access: RandomAccess,
  block: Block,
  header: BatchHeader,
  needed: readonly number[],
): Promise<(Uint8Array | undefined)[]> {
  const { codec } = header;
  if (codec === 'zstd') await zstdReady;
  const regions = bufferRegions(header, block.bodyBytes);
  const start = block.offset + block.metadataBytes;
  const ranges = needed.map((index) => {
    const region = regions[index];
    if (region === undefined) throw corrupt('A batch of a file has too few buffers.');
    return { offset: start + region[0], length: region[1] };
  });
  const found = await readRanges(access, ranges);
  const buffers: (Uint8Array | undefined)[] = regions.map(() => undefined);
  needed.forEach((index, at) => {
    const bytes = found[at]!;
    buffers[index] = codec === undefined ? bytes : readCompressed(bytes, codec);
  });
  return buffers;
}
