import { DataType, Field, Message, type Dictionary, type Schema } from 'apache-arrow';
import { continuation } from './framing.ts';
import { childrenOf, dictionaryOf, schemaOf, withChildren } from '../nested-type.ts';
import { corrupt } from '../arrow-error.ts';
import { decodeMessage } from './message.ts';

/**
 * The package leaves an empty name out, which other readers do not accept. A
 * text object is written even when it is empty.
 */
const emptyName: string = Object('');

/**
 * The schema as it is written: its dictionaries are numbered from 0 in
 * depth-first order, each column having its own.
 */
export function writableSchema(schema: Schema): Schema {
  const cached = writables.get(schema);
  if (cached !== undefined) return cached;
  const ids = { next: 0 };
  const fields = schema.fields.map((field) => writableField(field, ids));
  const writable = schemaOf(fields, schema.metadata);
  writables.set(schema, writable);
  return writable;
}

function writableField(field: Field, ids: { next: number }): Field {
  const name = field.name === '' ? emptyName : field.name;
  return new Field(name, writableType(field.type, ids), field.nullable, field.metadata);
}

function writableType(type: DataType, ids: { next: number }): DataType {
  if (DataType.isDictionary(type)) {
    const dictionary: Dictionary = type;
    const id = ids.next++;
    return dictionaryOf(dictionary, writableType(dictionary.dictionary, ids), id);
  }
  const children = childrenOf(type);
  if (children.length === 0) return type;
  return withChildren(
    type,
    children.map((child) => writableField(child, ids)),
  );
}

/** Cache of encoded schemas: a table writes many files with one schema, and schemas are immutable. */
const encoded = new WeakMap<Schema, Uint8Array>();
const writables = new WeakMap<Schema, Schema>();

function metadataOf(writable: Schema): Uint8Array {
  const cached = encoded.get(writable) ?? Message.encode(Message.from(writable));
  encoded.set(writable, cached);
  return cached;
}

/** The message that carries a schema, with its marker and length, padded to `alignment` after `offset`. */
export function schemaMessage(writable: Schema, offset = 0, alignment = 8): Uint8Array {
  return framed(metadataOf(writable), offset, alignment);
}

/**
 * Metadata with its marker and length before it (Arrow format, "Encapsulated
 * message format"), padded so that what follows lies on the alignment in a
 * file in which the message begins at `offset`.
 */
export function framed(metadata: Uint8Array, offset: number, alignment: number): Uint8Array {
  const used = offset + 8 + metadata.length;
  const padding = (alignment - (used % alignment)) % alignment;
  const bytes = new Uint8Array(8 + metadata.length + padding);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, continuation, true);
  view.setInt32(4, metadata.length + padding, true);
  bytes.set(metadata, 8);
  return bytes;
}

/** A schema as the message of an IPC stream, marker and length included: what a stream begins with. */
export function encodeSchema(schema: Schema): Uint8Array {
  return schemaMessage(writableSchema(schema));
}

/** The schema of such a message. Throws `ArrowError` if the bytes are not one. */
export function decodeSchema(bytes: Uint8Array): Schema {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const whole = bytes.length >= 8 && view.getUint32(0, true) === continuation;
  const length = whole ? view.getInt32(4, true) : 0;
  if (length <= 0 || length + 8 > bytes.length)
    throw corrupt('The bytes are not a schema message.');
  const message = decodeMessage(bytes.subarray(8, 8 + length));
  if (message.kind !== 'schema') throw corrupt(`The bytes are a ${message.kind}, not a schema.`);
  return message.decoded.schema;
}
