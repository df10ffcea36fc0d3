import type { VersionRecord } from './records.ts';
import type { Manifest } from './manifest.ts';

/**
 * Encodes a version record as JSON. The version is a decimal text, since JSON numbers lose digits.
 */
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

/** A version that is proposed for commit: its files are written, nothing refers to them yet. */
export interface ProposedVersion {
  /** The version it follows; absent for the first version of a table. */
  readonly base: Manifest | undefined;
  readonly manifest: Manifest;
}

/**
 * Judges a version before its commit, and again each time it is recomputed.
 * @throws CatalogError if a rule refuses it.
 */
export type JudgeVersion = (proposed: ProposedVersion) => Promise<void>;
