import type { Check, Write } from '../../store/store.ts';
import { headKey, versionKey } from '../catalog/keys.ts';
import type { Stored, VersionRecord } from '../catalog/records.ts';
import { encodeVersion } from './version-codec.ts';
import { MAIN } from './version-store.ts';

/** The check that a table's head is still what a commit was built on. */
export function headCheck(tableId: string, head: Stored<VersionRecord> | undefined): Check {
  return { kind: 'value', key: headKey(tableId, MAIN), value: head?.value ?? null };
}

/** The writes that make a version the head of its table. */
export function versionWrites(tableId: string, record: VersionRecord): readonly Write[] {
  const value = encodeVersion(record);
  return [
    { key: headKey(tableId, MAIN), value },
    { key: versionKey(tableId, MAIN, record.version), value },
  ];
}
