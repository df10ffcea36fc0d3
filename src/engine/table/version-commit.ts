import type { Check, Write } from '../../store/store.ts';
import { headKey, versionKey } from '../catalog/keys.ts';
import type { Stored, VersionRecord } from '../catalog/records.ts';
import { encodeVersion } from './version-codec.ts';
import { MAIN } from './chain.ts';

/**
 * The check that a head is still what a commit was built on.
 * @param chain The line that it is the head of: `main`, or a branch's id.
 */
export function headCheck(
  tableId: string,
  head: Stored<VersionRecord> | undefined,
  chain: string = MAIN,
): Check {
  return { kind: 'value', key: headKey(tableId, chain), value: head?.value ?? null };
}

/** The writes that make a version the head of its line. */
export function versionWrites(
  tableId: string,
  record: VersionRecord,
  chain: string = MAIN,
): readonly Write[] {
  const value = encodeVersion(record);
  return [
    { key: headKey(tableId, chain), value },
    { key: versionKey(tableId, chain, record.version), value },
  ];
}
