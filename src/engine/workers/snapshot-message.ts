import { decodeSchema, encodeSchema } from '../../arrow/schema-bytes.ts';
import type { Snapshot } from '../table/snapshot.ts';

/** A table at one version as data that can be sent to a thread: only its schema is no plain data. */
export type SnapshotMessage = Omit<Snapshot, 'schema'> & { readonly schema: Uint8Array };

export function snapshotMessage(snapshot: Snapshot): SnapshotMessage {
  return { ...snapshot, schema: encodeSchema(snapshot.schema) };
}

export function snapshotOf(message: SnapshotMessage): Snapshot {
  return { ...message, schema: decodeSchema(message.schema) };
}
