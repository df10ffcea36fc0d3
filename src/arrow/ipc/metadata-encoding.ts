import type { Schema } from 'apache-arrow';
import { Footer } from 'apache-arrow/ipc/metadata/file';
import { schemaOf } from '../nested-type.ts';
import type { Block } from './footer.ts';

/** The parts of a batch, for its message. */
export interface BatchParts {
  readonly rows: number;
  readonly bodyBytes: number;
  /** Length and null count of each node, in depth-first order. */
  readonly nodes: readonly number[];
  /** Offset and length in the body of each buffer. */
  readonly buffers: readonly number[];
  /** How many data buffers each view column has. */
  readonly variadic: readonly number[];
}

/** The metadata version V5 of Schema.fbs, and the kind of a batch in the union `MessageHeader`. */
const VERSION = 4;
const BATCH = 3;

/** Layout of the metadata: two tables after the lists of their fields. */
const MESSAGE_FIELDS = 4;
const BATCH_FIELDS = 16;
const MESSAGE = 32;
const BATCH_TABLE = 56;
const LISTS = 80;

/**
 * The metadata of a batch's message (Message.fbs), which is the same for all batches but for
 * its numbers: laid out directly, it takes a tenth of the time that a builder needs.
 */
export function batchMetadata(parts: BatchParts): Uint8Array {
  const { nodes, buffers, variadic } = parts;
  const afterNodes = LISTS + 8 + 8 * nodes.length;
  const afterBuffers = afterNodes + 8 + 8 * buffers.length;
  const views = variadic.length > 0;
  const length = afterBuffers + (views ? 8 + 8 * variadic.length : 0);
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MESSAGE, true);
  // Position of each field in its table.
  setUint16s(view, MESSAGE_FIELDS, [12, 20, 16, 18, 4, 8]);
  setUint16s(view, BATCH_FIELDS, [14, 24, 8, 4, 16, 0, views ? 20 : 0]);
  view.setInt32(MESSAGE, MESSAGE - MESSAGE_FIELDS, true);
  view.setUint32(MESSAGE + 4, BATCH_TABLE - (MESSAGE + 4), true);
  view.setInt16(MESSAGE + 16, VERSION, true);
  view.setUint8(MESSAGE + 18, BATCH);
  view.setInt32(BATCH_TABLE, BATCH_TABLE - BATCH_FIELDS, true);
  setList(view, BATCH_TABLE + 4, LISTS, nodes.length / 2);
  setList(view, BATCH_TABLE + 16, afterNodes, buffers.length / 2);
  if (views) setList(view, BATCH_TABLE + 20, afterBuffers, variadic.length);
  setBatchNumbers(view, 0, parts);
  return bytes;
}

/**
 * Sets the numbers of a batch in metadata for as many nodes and buffers.
 * @param start Position of the metadata.
 */
export function setBatchNumbers(
  view: DataView,
  start: number,
  { rows, bodyBytes, nodes, buffers, variadic }: BatchParts,
): void {
  setInt64(view, start + MESSAGE + 8, bodyBytes);
  setInt64(view, start + BATCH_TABLE + 8, rows);
  const afterNodes = start + LISTS + 8 + 8 * nodes.length;
  setInt64s(view, start + LISTS + 8, nodes);
  setInt64s(view, afterNodes + 8, buffers);
  setInt64s(view, afterNodes + 8 + 8 * buffers.length + 8, variadic);
}

/** Footers without blocks, and without the metadata of those that have some: a schema is written in many files, and never changed. */
const plain = new WeakMap<Schema, Uint8Array>();
const described = new WeakMap<Schema, Uint8Array>();

/** The slots of the table `Footer` of File.fbs, and of the table `Schema` of Schema.fbs. */
const SCHEMA = 1;
const DICTIONARIES = 2;
const BATCHES = 3;
const METADATA = 2;
const BLOCK_BYTES = 24;

const NONE = Buffer.alloc(0);

/** Texts by their names. */
export type FileMetadata = ReadonlyMap<string, string>;

/**
 * The footer of a file (File.fbs): what is the same for each file of a schema, and then its blocks and
 * metadata. Those are laid out directly, since small files are mostly footer.
 * @param metadata In place of the schema's; its own unless given.
 */
export function footerMetadata(
  writable: Schema,
  batches: readonly Block[],
  dictionaries: readonly Block[],
  metadata: FileMetadata = writable.metadata,
): Uint8Array {
  const start = emptyFooter(writable, metadata.size > 0);
  const first = aligned(start.length);
  const second = first + 8 + BLOCK_BYTES * batches.length;
  const third = second + 8 + BLOCK_BYTES * dictionaries.length;
  const pairs = metadata.size === 0 ? NONE : encodedPairs(metadata);
  const bytes = Buffer.alloc(third + pairs.length);
  bytes.set(start);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const root = view.getUint32(0, true);
  setBlocks(view, fieldOf(view, root, BATCHES), first, batches);
  setBlocks(view, fieldOf(view, root, DICTIONARIES), second, dictionaries);
  if (metadata.size === 0) return bytes;
  bytes.set(pairs, third);
  const schema = fieldOf(view, root, SCHEMA);
  const list = fieldOf(view, schema + view.getUint32(schema, true), METADATA);
  view.setUint32(list, third - list, true);
  return bytes;
}

/** Position of the first block of batches in the footer of a schema that has its own metadata. */
export function blockPlace(writable: Schema): number {
  return aligned(emptyFooter(writable, writable.metadata.size > 0).length) + 8;
}

/** Sets the length of a body in the block at a position. */
export function setBodyBytes(view: DataView, block: number, bodyBytes: number): void {
  setInt64(view, block + 16, bodyBytes);
}

/** The next multiple of 8. */
function aligned(length: number): number {
  return length + ((8 - (length % 8)) % 8);
}

/** @param hasMetadata Whether there is a place for metadata: the package leaves it out without any entry. */
function emptyFooter(writable: Schema, hasMetadata: boolean): Uint8Array {
  const known = hasMetadata ? described : plain;
  const found = known.get(writable);
  if (found !== undefined) return found;
  const schema = schemaOf(writable.fields, new Map(hasMetadata ? [['', '']] : []));
  const footer = Footer.encode(new Footer(schema, undefined, [], []));
  known.set(writable, footer);
  return footer;
}

/** A table `KeyValue` of Schema.fbs: the lists of its fields, and then for each pair its table and texts. */
const PAIR_FIELDS = [8, 12, 4, 8] as const;
const PAIR_TABLE = 12;

/** Pairs as a list of tables of which the first byte can lie anywhere at a multiple of 4. */
function encodedPairs(metadata: FileMetadata): Buffer {
  const texts = [...metadata].flat();
  const lengths = texts.map((text) => Buffer.byteLength(text));
  const fields = 4 + 4 * metadata.size;
  const tables = fields + 2 * PAIR_FIELDS.length;
  const all = lengths.reduce((sum, length) => sum + textBytes(length), 0);
  const bytes = Buffer.alloc(tables + PAIR_TABLE * metadata.size + all);
  bytes.writeUInt32LE(metadata.size, 0);
  PAIR_FIELDS.forEach((field, at) => bytes.writeUInt16LE(field, fields + 2 * at));
  let text = tables + PAIR_TABLE * metadata.size;
  texts.forEach((written, at) => {
    const [pair, isValue] = [at >> 1, at & 1];
    const table = tables + PAIR_TABLE * pair;
    const field = table + 4 + 4 * isValue;
    if (isValue === 0) {
      bytes.writeUInt32LE(table - (4 + 4 * pair), 4 + 4 * pair);
      bytes.writeInt32LE(table - fields, table);
    }
    bytes.writeUInt32LE(text - field, field);
    bytes.writeUInt32LE(lengths[at]!, text);
    bytes.write(written, text + 4);
    text += textBytes(lengths[at]!);
  });
  return bytes;
}

/** Bytes of a text with its length before it, a zero behind it, and what aligns the next one. */
function textBytes(length: number): number {
  return 4 + length + (4 - (length % 4));
}

/** Position of the reference in a slot of a table. */
function fieldOf(view: DataView, table: number, slot: number): number {
  return table + view.getUint16(table - view.getInt32(table, true) + 4 + 2 * slot, true);
}

/** Points a field to a list of blocks. */
function setBlocks(view: DataView, field: number, at: number, blocks: readonly Block[]): void {
  view.setUint32(field, at + 4 - field, true);
  view.setUint32(at + 4, blocks.length, true);
  blocks.forEach(({ offset, metadataBytes, bodyBytes }, index) => {
    const start = at + 8 + BLOCK_BYTES * index;
    setInt64(view, start, offset);
    view.setInt32(start + 8, metadataBytes, true);
    setInt64(view, start + 16, bodyBytes);
  });
}

/** Points a field to a list of some items, aligned to 8 bytes. */
function setList(view: DataView, field: number, at: number, items: number): void {
  view.setUint32(field, at + 4 - field, true);
  view.setUint32(at + 4, items, true);
}

function setInt64s(view: DataView, at: number, numbers: readonly number[]): void {
  for (let index = 0; index < numbers.length; index++) {
    setInt64(view, at + 8 * index, numbers[index]!);
  }
}

function setUint16s(view: DataView, at: number, numbers: readonly number[]): void {
  for (let index = 0; index < numbers.length; index++) {
    view.setUint16(at + 2 * index, numbers[index]!, true);
  }
}

function setInt64(view: DataView, at: number, value: number): void {
  const high = Math.floor(value / 2 ** 32);
  view.setUint32(at, value - high * 2 ** 32, true);
  view.setInt32(at + 4, high, true);
}
