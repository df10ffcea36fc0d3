import type { Data, Field, Vector } from 'apache-arrow';
import { bufferRegions, readCompressed } from './body.ts';
import { zstdReady } from './codec-zstd.ts';
import { ColumnCursor } from './column-cursor.ts';
import { decodeColumn } from './column-decoding.ts';
import { placesOf } from './column-shape.ts';
import { corrupt } from './errors.ts';
import type { Block } from './footer.ts';
import { type BatchHeader, decodeMessage, type Message } from './message.ts';
import { type RandomAccess, readRanges } from './random-access.ts';

/** How many messages are asked for at once. */
const requestsAtOnce = 32;

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

  /**
   * Some top-level columns of a batch, by their positions among all of its
   * fields. Reads only their buffers.
   */
  async columns(
    block: Block,
    header: BatchHeader,
    fields: readonly Field[],
    wanted: readonly number[],
    dictionaries: ReadonlyMap<number, Vector>,
  ): Promise<Data[]> {
    const types = fields.map((field) => field.type);
    const places = placesOf(types, header);
    const needed = new Set<number>();
    for (const index of wanted) {
      const { buffer, buffers } = places[index]!;
      for (let at = buffer; at < buffer + buffers; at++) needed.add(at);
    }
    const buffers = await this.#buffers(block, header, [...needed]);
    const dictionary = (id: number, name: string): Vector => {
      const found = dictionaries.get(id);
      if (found === undefined) throw corrupt(`The file has no dictionary for column "${name}".`);
      return found;
    };
    return wanted.map((index) => {
      const cursor = new ColumnCursor({ header, buffers, dictionary, start: places[index]! });
      const { name, type } = fields[index]!;
      const data = decodeColumn(type, name, cursor);
      if (data.length === header.rows) return data;
      throw corrupt(`Column "${name}" has ${data.length} rows, its batch has ${header.rows}.`);
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

  async #buffers(
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
    const found = await readRanges(this.#access, ranges);
    const buffers: (Uint8Array | undefined)[] = regions.map(() => undefined);
    needed.forEach((index, at) => {
      const bytes = found[at]!;
      buffers[index] = codec === undefined ? bytes : readCompressed(bytes, codec);
    });
    return buffers;
  }
}
