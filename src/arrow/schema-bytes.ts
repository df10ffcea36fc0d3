import type { Schema } from 'apache-arrow';
import { corrupt } from './errors.ts';
import { continuation } from './framing.ts';
import { decodeMessage } from './message.ts';
import { schemaMessage, writableSchema } from './schema-encoding.ts';

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
