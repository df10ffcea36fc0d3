import type { VersionRecord } from './records.ts';
import type { Manifest } from './manifest.ts';

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

/** A version that is to be committed: its files are written, nothing refers to them yet. */
export interface ProposedVersion {
  /** What it is built on; absent for the first version of a table. */
  readonly base: Manifest | undefined;
  readonly manifest: Manifest;
}

/** Judges a version before it is committed, again whenever it was built again. @throws CatalogError for one that may not be. */
export type JudgeVersion = (proposed: ProposedVersion) => Promise<void>;
