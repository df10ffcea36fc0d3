import type { VersionRecord } from '../catalog/records.ts';

/** The bytes of a version record: JSON, the version as a decimal string so that no reader rounds it. */
export function encodeVersion(record: VersionRecord): Uint8Array {
  return Buffer.from(JSON.stringify({ ...record, version: String(record.version) }));
}

/** The inverse of `encodeVersion`. */
export function decodeVersion(bytes: Uint8Array): VersionRecord {
  const parsed = JSON.parse(Buffer.from(bytes).toString()) as Omit<VersionRecord, 'version'> & {
    readonly version: string;
  };
  return { ...parsed, version: BigInt(parsed.version) };
}
