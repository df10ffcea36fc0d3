import { LRUCache } from 'lru-cache';
import { ArrowError, corrupt } from '../arrow-error.ts';
import { FlatTable } from './flatbuffer.ts';
import { type DecodedSchema, decodeSchemaTable } from './schema-decoding.ts';

/** Compression of a body's buffers (Message.fbs, `CompressionType`). */
export type Codec = 'lz4' | 'zstd';

/** Positions of the columns of a batch in its body. */
export interface BatchHeader {
  readonly rows: number;
  /** Length and null count of each node, in depth-first order. */
  readonly nodes: Float64Array;
  /** Offset and length in the body of each buffer. */
  readonly buffers: Float64Array;
  /** How many data buffers each view column has. */
  readonly variadic: Float64Array;
  readonly codec: Codec | undefined;
  /** Whether unions have a validity buffer, as they had up to the metadata version V4. */
  readonly unionBitmaps: boolean;
}

/** One message of a stream or file, without its body. */
export type Message = { readonly bodyLength: number } & (
  | { readonly kind: 'schema'; readonly decoded: DecodedSchema }
  | { readonly kind: 'batch'; readonly header: BatchHeader }
  | DictionaryMessage
);

/** Values of a dictionary; a delta comes after those that were sent before. */
export interface DictionaryMessage {
  readonly kind: 'dictionary';
  readonly id: number;
  readonly isDelta: boolean;
  readonly header: BatchHeader;
}

/** The numbers of the union `MessageHeader` in Message.fbs. */
const readers: Readonly<Record<number, (source: Source) => Message>> = {
  1: readSchema,
  2: readDictionary,
  3: (source) => ({
    kind: 'batch',
    header: readHeader(source.table, source.version),
    bodyLength: source.bodyLength,
  }),
};

interface Source {
  /** All bytes of the message. */
  readonly metadata: Uint8Array;
  readonly table: FlatTable;
  readonly bodyLength: number;
  readonly version: number;
}

/** The metadata version V4 of Schema.fbs, the first with today's layout (Arrow 0.8). */
const oldestVersion = 3;
/** The metadata version V5 of Schema.fbs. */
const newestVersion = 4;

/** Decodes the metadata of a message. Throws `corrupt` or `unsupported`. */
export function decodeMessage(metadata: Uint8Array): Message {
  const root = FlatTable.root(metadata);
  const version = root.int16(0);
  if (version < oldestVersion || version > newestVersion) {
    throw new ArrowError('unsupported', `The metadata version ${version + 1} is not supported.`);
  }
  const kind = root.uint8(1);
  const reader = readers[kind];
  if (reader === undefined) {
    throw new ArrowError('unsupported', `A message of the kind ${kind} is not supported.`);
  }
  const table = root.table(2);
  if (table === undefined) throw corrupt('A message has no header.');
  const bodyLength = root.int64(3);
  if (bodyLength < 0) throw corrupt(`A message declares a body of ${bodyLength} bytes.`);
  return reader({ metadata, table, bodyLength, version });
}

/** Schemas that are kept, and their greatest size in bytes. */
const KEPT_SCHEMAS = 64;
const KEPT_BYTES = 4096;

/** Messages with schemas by their bytes: a client sends the same one with each of its inserts, and its encodings are known by the object. */
const schemas = new LRUCache<string, Message>({ max: KEPT_SCHEMAS });

function readSchema({ metadata, table, bodyLength }: Source): Message {
  const key = metadata.byteLength > KEPT_BYTES ? undefined : bytesText(metadata);
  const known = key === undefined ? undefined : schemas.get(key);
  if (known !== undefined) return known;
  const decoded = decodeSchemaTable(table);
  const message = { kind: 'schema', decoded, bodyLength } as const;
  // The ids of dictionaries belong to one stream.
  if (key !== undefined && decoded.dictionaryIds.size === 0) schemas.set(key, message);
  return message;
}

function bytesText({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1');
}

function readDictionary({ table, bodyLength, version }: Source): Message {
  const data = table.table(1);
  if (data === undefined) throw corrupt('A dictionary message has no values.');
  const header = readHeader(data, version);
  return { kind: 'dictionary', id: table.int64(0), isDelta: table.bool(2), header, bodyLength };
}

function readHeader(table: FlatTable, version: number): BatchHeader {
  const rows = table.int64(0);
  if (rows < 0) throw corrupt(`A batch declares ${rows} rows.`);
  return {
    rows,
    nodes: table.int64s(1, 16, [0, 8]),
    buffers: table.int64s(2, 16, [0, 8]),
    variadic: table.int64s(4, 8, [0]),
    codec: readCodec(table.table(3)),
    unionBitmaps: version < newestVersion,
  };
}

function readCodec(table: FlatTable | undefined): Codec | undefined {
  if (table === undefined) return undefined;
  const [codec, method] = [table.int8(0), table.int8(1)];
  if (method === 0 && codec === 0) return 'lz4';
  if (method === 0 && codec === 1) return 'zstd';
  throw new ArrowError(
    'unsupported',
    `The compression ${codec} by the method ${method} is not supported.`,
  );
}
