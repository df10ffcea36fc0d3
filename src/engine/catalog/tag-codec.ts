import type { TagRecord } from './records.ts';

/** The bytes of a tag's record: JSON, the version as a decimal string so that no reader rounds it. */
export function encodeTag(record: TagRecord): Uint8Array {
  return Buffer.from(JSON.stringify({ ...record, version: String(record.version) }));
}

/** The inverse of `encodeTag`. */
export function decodeTag(bytes: Uint8Array): TagRecord {
  const parsed = JSON.parse(Buffer.from(bytes).toString()) as Omit<
    TagRecord,
    'version' | 'branch'
  > & {
    readonly version: string;
    readonly branch?: string | null;
  };
  return { ...parsed, branch: parsed.branch ?? null, version: BigInt(parsed.version) };
}
