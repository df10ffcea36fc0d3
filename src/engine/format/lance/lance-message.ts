import { PbfReader } from 'pbf';

/** Invalid bytes of a Lance manifest. The message names the fault. */
export class LanceManifestError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'LanceManifestError';
  }
}

/** A message under construction. */
export type Draft<Message> = { -readonly [Key in keyof Message]: Message[Key] };

/** Readers of the known fields of a message, by number. Other fields are skipped. */
export type FieldReaders<Result> = Readonly<
  Record<number, (result: Result, pbf: PbfReader) => void>
>;

/**
 * Reads a message of the Protocol Buffers encoding.
 * @throws LanceManifestError
 */
export function decodeProtobuf<Result>(
  bytes: Uint8Array,
  fields: FieldReaders<Result>,
  result: Result,
): Result {
  try {
    return readFields(new PbfReader(bytes), fields, result);
  } catch (error) {
    if (error instanceof LanceManifestError) throw error;
    throw damaged();
  }
}

/** A field that is a message itself. */
export function innerMessage<Result>(
  pbf: PbfReader,
  fields: FieldReaders<Result>,
  result: Result,
): Result {
  requireKind(pbf, BYTES);
  const length = pbf.readVarint();
  return readFields(pbf, fields, result, pbf.pos + length);
}

/** @param end Where the message ends. */
function readFields<Result>(
  pbf: PbfReader,
  fields: FieldReaders<Result>,
  result: Result,
  end = pbf.length,
): Result {
  if (end > pbf.length) throw damaged();
  pbf.readFields((tag) => fields[tag]?.(result, pbf), result, end);
  // The package reads past the end without an error.
  if (pbf.pos !== end) throw damaged();
  return result;
}

const VARINT = 0;
const BYTES = 2;
/** The bits of a tag that say the kind of a field. */
const KIND = 7;
const KIND_BITS = 3;

const NOTHING = new Uint8Array(0);

export function bytesField(pbf: PbfReader): Uint8Array {
  requireKind(pbf, BYTES);
  const bytes = pbf.readBytes();
  if (pbf.pos > pbf.length) throw damaged();
  return bytes;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

export function utf8Field(pbf: PbfReader): string {
  try {
    return utf8.decode(bytesField(pbf));
  } catch (error) {
    if (error instanceof LanceManifestError) throw error;
    throw new LanceManifestError('a text is not UTF-8');
  }
}

/** Most bytes of an integer, and how many of them are computed as a number, which is much faster. */
const VARINT_BYTES = 10;
const NUMBER_BYTES = 4;

/** An exact unsigned 64-bit integer: the package returns a double. */
export function uint64Field(pbf: PbfReader): bigint {
  requireKind(pbf, VARINT);
  return varint(pbf);
}

function varint(pbf: PbfReader): bigint {
  let value = 0;
  for (let index = 0; index < NUMBER_BYTES; index++) {
    const byte = varintByte(pbf);
    value |= (byte & 0x7f) << (7 * index);
    if (byte < 0x80) return BigInt(value);
  }
  return longVarint(pbf, BigInt(value));
}

/** The rest of an integer. One longer than 64 bits is invalid; reading it would not end. */
function longVarint(pbf: PbfReader, low: bigint): bigint {
  let value = low;
  for (let index = NUMBER_BYTES; index < VARINT_BYTES; index++) {
    const byte = varintByte(pbf);
    value |= BigInt(byte & 0x7f) << BigInt(7 * index);
    if (byte < 0x80) return BigInt.asUintN(64, value);
  }
  throw damaged();
}

function varintByte(pbf: PbfReader): number {
  const byte = pbf.buf[pbf.pos++];
  if (byte === undefined) throw damaged();
  return byte;
}

/** A signed 32-bit integer. */
export function smallField(pbf: PbfReader): number {
  return Number(BigInt.asIntN(32, uint64Field(pbf)));
}

/** 32-bit integers of a list, packed in one field or in one field each. */
export function* smallFields(pbf: PbfReader): Generator<number> {
  if (pbf.type !== BYTES) {
    yield smallField(pbf);
    return;
  }
  const list = new PbfReader(bytesField(pbf));
  while (list.pos < list.length) yield Number(BigInt.asIntN(32, varint(list)));
}

/** A count of rows or bytes. @throws LanceManifestError for an impossible count. */
export function rowCountField(pbf: PbfReader): bigint {
  const count = uint64Field(pbf);
  if (count <= BigInt(Number.MAX_SAFE_INTEGER)) return count;
  throw new LanceManifestError('a count is too large');
}

/** An entry of a map from text to text. */
export function entryField(pbf: PbfReader): readonly [string, string] {
  const { key, value } = innerMessage(pbf, entryFields, { key: '', value: '' });
  return [key, value];
}

const entryFields: FieldReaders<{ key: string; value: string }> = {
  1: (entry, pbf) => (entry.key = utf8Field(pbf)),
  2: (entry, pbf) => (entry.value = utf8Field(pbf)),
};

/** A field of a message as it is encoded. */
export interface EncodedField {
  readonly number: number;
  /** With its tag. */
  readonly bytes: Uint8Array;
  /** What follows the tag and the length; empty for numbers. */
  readonly content: Uint8Array;
}

/** The fields of a message in their order. @throws LanceManifestError */
export function* encodedFields(message: Uint8Array): Generator<EncodedField> {
  const pbf = new PbfReader(message);
  while (pbf.pos < pbf.length) {
    const from = pbf.pos;
    const tag = pbf.readVarint();
    const isMessage = (tag & KIND) === BYTES;
    const content = isMessage ? pbf.readBytes() : NOTHING;
    if (!isMessage) pbf.skip(tag);
    if (pbf.pos > pbf.length) throw damaged();
    yield { number: tag >>> KIND_BITS, bytes: message.subarray(from, pbf.pos), content };
  }
}

function requireKind(pbf: PbfReader, kind: number): void {
  if (pbf.type !== kind) throw damaged();
}

function damaged(): LanceManifestError {
  return new LanceManifestError('its message is damaged');
}
