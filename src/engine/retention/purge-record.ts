import type { Store } from '../../store/store.ts';
import { purgedKey } from '../catalog/keys.ts';
import { decodeDropped, encodeDropped } from '../catalog/records-codec.ts';
import type { DroppedRecord, Stored } from '../catalog/records.ts';
import { entriesBelow } from './entries.ts';

/** A dropped table that a process removes for good. */
export interface PurgeRecord {
  /** The name of the process. */
  readonly owner: string;
  readonly dropped: DroppedRecord;
}

/** The bytes of a record: a line with the owner, then the dropped table's record as it was. */
export function encodePurge({ owner, dropped }: PurgeRecord): Uint8Array {
  return Buffer.concat([Buffer.from(`${owner}\n`), encodeDropped(dropped)]);
}

/** The inverse of `encodePurge`. Throws on bytes that are no such record. */
export function decodePurge(bytes: Uint8Array): PurgeRecord {
  const end = bytes.indexOf(0x0a);
  const owner = Buffer.from(bytes.subarray(0, end)).toString();
  return { owner, dropped: decodeDropped(bytes.subarray(end + 1)) };
}

/** The tables whose removal was begun and not ended. */
export async function* begunPurges(store: Store): AsyncGenerator<Stored<PurgeRecord>> {
  for await (const { key, value } of entriesBelow(store, purgedKey(''))) {
    yield { key, value, content: decodePurge(value) };
  }
}
