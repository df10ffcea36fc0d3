import { randomUUID } from 'node:crypto';
import type { FileSeal } from '../../../arrow/sealed/file-seal.ts';
import type { Write } from '../../../store/store.ts';
import { wasteKey } from '../../catalog/records/keys.ts';
import type { TableRecord, VersionRecord } from '../../format/records.ts';

/** Versions that were removed: their manifests still say which files they named. */
export interface WasteRecord {
  /** When they were removed, in milliseconds. */
  readonly sinceMillis: number;
  /** Final and staging name of each manifest, as paths in the table's folder. */
  readonly manifests: readonly (readonly [string, string])[];
  /** The seal of each manifest, null for one without; absent in older records. */
  readonly seals?: readonly (FileSeal | null)[];
}

/** How many versions one record holds. */
const AT_ONCE = 1000;

/** Writes that record the files of removed versions in the commit of the removal. */
export function wasteWrites(
  table: Pick<TableRecord, 'id'>,
  versions: readonly VersionRecord[],
): readonly Write[] {
  const sinceMillis = Date.now();
  const writes: Write[] = [];
  for (let start = 0; start < versions.length; start += AT_ONCE) {
    const some = versions.slice(start, start + AT_ONCE);
    const manifests = some.map(({ manifest, staging }) => [manifest, staging] as const);
    const seals = some.map(({ seal }) => seal ?? null);
    const record: WasteRecord = { sinceMillis, manifests, seals };
    const value = Buffer.from(JSON.stringify(record));
    writes.push({ key: wasteKey(table.id, randomUUID()), value });
  }
  return writes;
}

/** The inverse of what `wasteWrites` makes of a record. */
export function decodeWaste(bytes: Uint8Array): WasteRecord {
  return JSON.parse(Buffer.from(bytes).toString()) as WasteRecord;
}
