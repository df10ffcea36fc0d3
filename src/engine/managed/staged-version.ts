import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Stored, TableRecord, VersionRecord } from '../catalog/records.ts';
import type { LanceManifest } from '../lance/lance-manifest.ts';

/** A version that a Lance client has staged and that can be the next one. */
export interface StagedVersion {
  readonly path: ObjectPath;
  readonly table: TableRecord;
  readonly branch: string;
  /** What it is built on; absent for the first version of a table. */
  readonly base: VersionRecord | undefined;
  readonly manifest: LanceManifest;
  /** Absolute path of the file with the manifest. */
  readonly file: string;
}

/** Adopts what Lance clients wrote to a line without the catalog, before a version is planned. Gives the table as it is then. */
export type AdoptFirst = (
  path: ObjectPath,
  stored: Stored<TableRecord>,
  branch: string,
) => Promise<Stored<TableRecord>>;

/** What a version must pass before it is planned. */
export interface Gates {
  readonly judge?: JudgeStaged;
  readonly adopt?: AdoptFirst;
}

/** Judges a version before it is committed, each time that it is planned. @throws CatalogError for one that may not be. */
export type JudgeStaged = (staged: StagedVersion) => Promise<void>;
