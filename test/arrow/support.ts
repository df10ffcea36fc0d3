import { readFileSync } from 'node:fs';
import type { Data, FixedSizeList, RecordBatch, Schema, Union, Vector } from 'apache-arrow';
import { ArrowError } from '../../src/arrow/arrow-error.ts';
import { type ArrowFile, openFile } from '../../src/arrow/ipc/file-reader.ts';
import { FileWriter } from '../../src/arrow/ipc/file-writer.ts';
import { type Layout, layoutOf } from '../../src/arrow/layout.ts';
import { openStream, type StreamLimits } from '../../src/arrow/ipc/stream-reader.ts';
import { StreamWriter } from '../../src/arrow/ipc/stream-writer.ts';

const fixtures = new URL('../fixtures/arrow/', import.meta.url);

/** The bytes of a fixture, in memory of their own. */
export function fixture(name: string): Uint8Array {
  return new Uint8Array(readFileSync(new URL(`${name}.arrows`, fixtures)));
}

/** Bytes in chunks of a size. */
export async function* chunksOf(
  bytes: Uint8Array,
  size: number = bytes.length,
): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export interface ReadTable {
  readonly schema: Schema;
  readonly batches: readonly RecordBatch[];
  readonly bytesRead: number;
}

/** Reads a whole stream. */
export async function readStream(
  bytes: Uint8Array,
  limits: StreamLimits = {},
  chunk?: number,
): Promise<ReadTable> {
  const stream = await openStream(chunksOf(bytes, chunk), limits);
  const batches: RecordBatch[] = [];
  for await (const batch of stream.batches()) batches.push(batch);
  return { schema: stream.schema, batches, bytesRead: stream.bytesRead };
}

/** The kind and message with which reading a stream fails. */
export async function refusal(bytes: Uint8Array, limits: StreamLimits = {}): Promise<string> {
  try {
    await readStream(bytes, limits);
  } catch (error) {
    if (error instanceof ArrowError) return `${error.kind}: ${error.message}`;
    throw error;
  }
  return 'read';
}

/** What a function that fails with an `ArrowError` says. */
export function refused(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof ArrowError) return `${error.kind}: ${error.message}`;
    throw error;
  }
  return 'accepted';
}

export function fileBytes(schema: Schema, batches: readonly RecordBatch[]): Uint8Array {
  const writer = new FileWriter(schema);
  const pieces = [writer.begin()];
  for (const batch of batches) pieces.push(...writer.batch(batch));
  pieces.push(writer.end());
  return joined(pieces, writer.bytes);
}

export function streamBytes(schema: Schema, batches: readonly RecordBatch[]): Uint8Array {
  const writer = new StreamWriter(schema);
  const pieces = [writer.begin()];
  for (const batch of batches) pieces.push(...writer.batch(batch));
  pieces.push(writer.end());
  return joined(pieces, writer.bytes);
}

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(Buffer.concat(pieces));
  if (bytes.length !== length) throw new Error(`${bytes.length} bytes, ${length} were counted`);
  return bytes;
}

/** A file in memory, and how many bytes were read of it. */
export interface MemoryFile {
  readonly file: ArrowFile;
  readonly reads: { offset: number; length: number }[];
}

export async function openBytes(bytes: Uint8Array): Promise<MemoryFile> {
  const reads: { offset: number; length: number }[] = [];
  const file = await openFile({
    size: bytes.length,
    read: (offset, length) => {
      reads.push({ offset, length });
      return Promise.resolve(bytes.slice(offset, offset + length));
    },
  });
  return { file, reads };
}

/** A value as plain as can be, read row by row with nothing of what is tested but the layout's name. */
export type Plain = string | null | readonly Plain[];

const readers: Readonly<Record<Layout, (data: Data, row: number) => Plain>> = {
  null: () => null,
  bool: (data, row) => {
    const bit = data.offset + row;
    return String((data.values[bit >> 3] >> (bit & 7)) & 1);
  },
  fixed: (data, row) => data.values.subarray(row * data.stride, (row + 1) * data.stride).join(),
  bytes: plainBytes,
  'large-bytes': plainBytes,
  view: plainView,
  list: plainList,
  'large-list': plainList,
  'fixed-list': (data, row) => {
    const { listSize } = data.type as FixedSizeList;
    return range(data.children[0]!, row * listSize, (row + 1) * listSize);
  },
  struct: (data, row) => data.children.map((child) => plainValue(child, row)),
  'dense-union': (data, row) => plainUnion(data, row, data.valueOffsets[row]),
  'sparse-union': (data, row) => plainUnion(data, row, row),
  dictionary: (data, row) => plainRow(data.dictionary!, data.values[row]),
};

export function plainValue(data: Data, row: number): Plain {
  const layout = layoutOf(data.type);
  const isUnion = layout === 'dense-union' || layout === 'sparse-union';
  if (!isUnion && !data.getValid(row)) return null;
  return readers[layout](data, row);
}

function plainBytes(data: Data, row: number): Plain {
  const [begin, end] = [Number(data.valueOffsets[row]), Number(data.valueOffsets[row + 1])];
  return hex(data.values.subarray(begin, end));
}

function plainList(data: Data, row: number): Plain {
  const [begin, end] = [Number(data.valueOffsets[row]), Number(data.valueOffsets[row + 1])];
  return range(data.children[0]!, begin, end);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

function plainView(data: Data, row: number): Plain {
  const { buffer, byteOffset } = data.values as Uint8Array;
  const view = new DataView(buffer, byteOffset + 16 * row, 16);
  const length = view.getInt32(0, true);
  if (length <= 12) return hex(new Uint8Array(buffer, byteOffset + 16 * row + 4, length));
  const at = view.getInt32(12, true);
  return hex(data.variadicBuffers[view.getInt32(8, true)]!.subarray(at, at + length));
}

function range(child: Data, begin: number, end: number): Plain {
  return Array.from({ length: end - begin }, (_, index) => plainValue(child, begin + index));
}

function plainUnion(data: Data, row: number, at: number): Plain {
  const id: number = data.typeIds[row];
  const index = (data.type as Union).typeIds.indexOf(id);
  return [String(id), plainValue(data.children[index]!, at)];
}

/** One row of a column in any number of pieces. */
export function plainRow(vector: Vector, row: number): Plain {
  let rest = row;
  for (const data of vector.data) {
    if (rest < data.length) return plainValue(data, rest);
    rest -= data.length;
  }
  throw new Error(`no row ${row}`);
}

/** All rows of all columns. */
export function plainRows(batches: readonly RecordBatch[]): Plain[][] {
  return batches.flatMap((batch) =>
    Array.from({ length: batch.numRows }, (_, row) =>
      batch.data.children.map((data) => plainValue(data, row)),
    ),
  );
}

/** A schema as text with everything that must survive. */
export function plainSchema(schema: Schema): unknown {
  return { fields: schema.fields.map(plainField), metadata: [...schema.metadata] };
}

function plainField(field: Schema['fields'][number]): unknown {
  const { name, nullable, metadata, type } = field;
  const own = Object.entries(type as object).filter(
    ([key]) => key !== 'children' && key !== 'id' && key !== 'dictionary' && key !== 'indices',
  );
  const dictionary = 'dictionary' in type ? [String(type.indices), String(type.dictionary)] : [];
  const children = (type.children ?? []).map(plainField);
  return { name, nullable, metadata: [...metadata], own, dictionary, children };
}
