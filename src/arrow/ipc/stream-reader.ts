import type { RecordBatch, Schema } from 'apache-arrow';
import { batchOfData } from '../data.ts';
import {
  bufferRegions,
  decodedBuffers,
  decompressedBytes,
  readBuffers,
  type PackedBatch,
  type Stretches,
} from './body.ts';
import { ByteSource } from './byte-source.ts';
import { zstdReady } from './codec-zstd.ts';
import { ColumnCursor } from './column-cursor.ts';
import { decodeColumn } from './column-decoding.ts';
import { ArrowError, corrupt } from '../arrow-error.ts';
import { isFileStart, readBody, readMessage, readMessageAfter, readPrefix } from './framing.ts';
import type { BatchHeader, Message } from './message.ts';
import type { DecodedSchema } from './schema-decoding.ts';
import { StreamDictionaries } from './stream-dictionaries.ts';
import { checkSupported } from '../types.ts';
import { validateColumns } from '../validate.ts';

/** Memory limits of a stream. */
export interface StreamLimits {
  /** Bytes of one batch, as sent and after decompression, and of all dictionaries together. 1 GiB unless given. */
  readonly batchBytes?: number;
  /** Bytes of the metadata of one message, the schema's included. 16 MiB unless given. */
  readonly metadataBytes?: number;
  /** Called before memory is taken; none by default. */
  readonly meter?: StreamMeter;
  /** Decompresses large batches elsewhere; they are decompressed here, in turns, unless given. */
  readonly decode?: DecodeBatch | undefined;
  /** Gives memory of a length, in bytes, for the rows of an uncompressed batch; new memory if absent. */
  readonly take?: ((length: number) => Uint8Array<ArrayBuffer>) | undefined;
}

/** Decompresses the buffers of a batch, in order, and may take the memory of its body. */
type DecodeBatch = (batch: PackedBatch) => Promise<readonly Uint8Array[]>;

type Limits = Required<Omit<StreamLimits, 'decode' | 'take'>> &
  Pick<StreamLimits, 'decode' | 'take'>;

/** Memory accounting of a stream. Methods refuse by throwing. */
export interface StreamMeter {
  /** Checks whether this many bytes can be held at all. */
  plan(bytes: number): void;
  /** Counts bytes that are held from now on; the promise resolves when they may be. */
  hold(bytes: number): void | Promise<void>;
  /** Gives back bytes that were held. */
  release(bytes: number): void;
  /** Counts bytes that decompression is about to give. */
  decompress(bytes: number): void;
  /** Counts rows. */
  addRows(rows: number): void;
  /** Resolves when it may work on many bytes at once. */
  turn(): void | Promise<void>;
  /** Gives back all that is held, once the stream was read or left. */
  close(): void;
}

const nothing = (): void => undefined;

const unmetered: StreamMeter = {
  plan: nothing,
  hold: nothing,
  release: nothing,
  decompress: nothing,
  addRows: nothing,
  turn: nothing,
  close: nothing,
};

/** Decompressing more than this many bytes would delay other requests. */
const turnBytes = 1_048_576;
/** Time that decompression runs before other requests have a turn, in ms. */
const turnMillis = 8;

/** An Arrow IPC stream that is being read. */
interface ArrowStream {
  readonly schema: Schema;
  /**
   * The batches, each validated before it is handed out. Can be iterated
   * once. Throws `ArrowError`; leaving it early ends the source.
   */
  batches(): AsyncGenerator<RecordBatch>;
  /** Bytes taken from the source so far. */
  readonly bytesRead: number;
}

/** Number of rows without bytes that the columns of a stream may have. */
const spareRows = 1_048_576;

/**
 * Begins to read an untrusted IPC stream (Arrow columnar format, "IPC
 * Streaming Format"), plain or with LZ4 or ZSTD bodies. Memory is bounded by
 * one batch. A file in the IPC file format is read, too, if its dictionaries
 * come first. Throws `ArrowError`.
 */
export async function openStream(
  source: AsyncIterable<Uint8Array>,
  limits: StreamLimits = {},
): Promise<ArrowStream> {
  const bytes = new ByteSource(source);
  try {
    return await openSource(bytes, {
      batchBytes: limits.batchBytes ?? 1_073_741_824,
      metadataBytes: limits.metadataBytes ?? 16_777_216,
      meter: limits.meter ?? unmetered,
      decode: limits.decode,
      take: limits.take,
    });
  } catch (error) {
    await bytes.close();
    throw error;
  }
}

async function openSource(source: ByteSource, limits: Limits): Promise<ArrowStream> {
  let prefix = await readPrefix(source);
  const isFile = prefix !== undefined && isFileStart(prefix);
  if (isFile) prefix = await readPrefix(source);
  const first = prefix && (await readMessageAfter(prefix, source, limits));
  if (first === undefined) throw corrupt('The stream is empty: it has no schema.');
  if (first.kind !== 'schema') {
    throw corrupt(`The stream begins with a message of the kind ${first.kind}, not a schema.`);
  }
  await readBody(source, first);
  checkSupported(first.decoded.schema);
  return new StreamReader(source, limits, first.decoded, isFile);
}

class StreamReader implements ArrowStream {
  readonly schema: Schema;
  readonly #source: ByteSource;
  readonly #limits: Limits;
  readonly #dictionaries: StreamDictionaries;
  readonly #isFile: boolean;
  #batch: RecordBatch | undefined;
  /** Memory held for the batch that was returned last. */
  #held = 0;
  #spareRows = spareRows;

  constructor(source: ByteSource, limits: Limits, decoded: DecodedSchema, isFile: boolean) {
    this.schema = decoded.schema;
    this.#source = source;
    this.#limits = limits;
    this.#dictionaries = new StreamDictionaries(decoded, limits.batchBytes);
    this.#isFile = isFile;
  }

  get bytesRead(): number {
    return this.#source.bytesRead;
  }

  async *batches(): AsyncGenerator<RecordBatch> {
    try {
      while (await this.#advance()) yield this.#handOver();
      // A file continues with its footer, which repeats what was read.
      if (this.#isFile) await this.#source.drain();
      if (!(await this.#source.atEnd())) throw corrupt('Bytes follow the end of the stream.');
    } finally {
      this.#limits.meter.close();
      await this.#source.close();
    }
  }

  /** Reads on to the next batch; false when there is none. */
  async #advance(): Promise<boolean> {
    this.#release();
    while (this.#batch === undefined) {
      const message = await readMessage(this.#source, this.#limits);
      if (message === undefined) return false;
      this.#batch = await this.#take(message);
    }
    return true;
  }

  /** A generator keeps its variables while it waits, so a batch in one would live until the next is read. */
  #handOver(): RecordBatch {
    const batch = this.#batch!;
    this.#batch = undefined;
    return batch;
  }

  async #take(message: Message): Promise<RecordBatch | undefined> {
    if (message.kind === 'schema') throw corrupt('The stream has a second schema.');
    const { header } = message;
    if (header.codec === 'zstd') await zstdReady;
    if (message.kind === 'batch') this.#limits.meter.addRows(header.rows);
    const buffers = await this.#readBuffers(message, header);
    const rowsOfBytes = 8 * buffers.reduce((sum, buffer) => sum + buffer.length, 0);
    const mostRows = this.#spareRows + rowsOfBytes;
    if (header.rows > mostRows) {
      const found = `${header.rows} rows, ${mostRows} are allowed for its bytes`;
      throw new ArrowError('limit', `A batch declares ${found}.`);
    }
    this.#spareRows -= Math.max(0, longestOf(header) - rowsOfBytes);
    if (message.kind === 'batch') return this.#readBatch(header, buffers, mostRows);
    this.#dictionaries.add(message, buffers, mostRows);
    this.#held = 0;
    return undefined;
  }

  /** Declared sizes are accounted for before memory is taken. */
  async #readBuffers(
    { bodyLength, kind }: Message,
    header: BatchHeader,
  ): Promise<readonly Uint8Array[]> {
    const { meter, batchBytes, decode } = this.#limits;
    meter.plan(bodyLength);
    const take = kind === 'batch' && header.codec === undefined ? this.#limits.take : undefined;
    const hold = (bytes: number) => this.#hold(bytes);
    const body = await this.#source.need(bodyLength, 'the body of a message', hold, take);
    const decompressed = decompressedBytes(header, body, batchBytes);
    meter.decompress(decompressed);
    await this.#hold(decompressed);
    const { codec } = header;
    if (codec === undefined || decompressed <= turnBytes) return readBuffers(header, body);
    if (decode !== undefined) {
      return decode({ codec, regions: bufferRegions(header, body.length), body });
    }
    await meter.turn();
    return inTurns(decodedBuffers(header, body), meter);
  }

  #hold(bytes: number): void | Promise<void> {
    const holding = this.#limits.meter.hold(bytes);
    if (holding === undefined) {
      this.#held += bytes;
      return;
    }
    return holding.then(() => {
      this.#held += bytes;
    });
  }

  /** Dictionaries hold their values until the end of the stream. */
  #release(): void {
    this.#limits.meter.release(this.#held);
    this.#held = 0;
  }

  #readBatch(header: BatchHeader, buffers: readonly Uint8Array[], mostRows: number): RecordBatch {
    const dictionary = this.#dictionaries.find;
    const cursor = new ColumnCursor({ header, buffers, dictionary, mostRows });
    const columns = this.schema.fields.map((field) => {
      const data = decodeColumn(field.type, field.name, cursor);
      if (data.length === header.rows) return data;
      const found = `${data.length} rows, its batch has ${header.rows}`;
      throw corrupt(`Column "${field.name}" has ${found}.`);
    });
    cursor.finish();
    validateColumns(this.schema.fields, columns);
    return batchOfData(this.schema, columns, header.rows);
  }
}

/** Runs long work a few milliseconds at a time. */
async function inTurns<Result>(work: Stretches<Result>, meter: StreamMeter): Promise<Result> {
  let until = performance.now() + turnMillis;
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    if (performance.now() < until) continue;
    await meter.turn();
    until = performance.now() + turnMillis;
  }
}

/** The length of the longest column of a batch, nested ones included. */
function longestOf({ nodes }: BatchHeader): number {
  let longest = 0;
  for (let at = 0; at < nodes.length; at += 2) longest = Math.max(longest, nodes[at]!);
  return longest;
}
