import type { FileSeal } from '../../arrow/sealed/file-seal.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';

export interface NamespaceRecord {
  readonly id: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly createdMillis: number;
}

/** Writer of a table: none yet, this engine, or Lance clients. */
export type TableKind = 'declared' | 'engine' | 'lance';

/** A gateway that keeps files of tables in its data folder. */
export interface TableGateway {
  /** Random, in a file of the data folder. */
  readonly id: string;
  /** For people: machine and data folder. */
  readonly name: string;
}

/** Record of a table. Its data lies under its id, so a rename moves no files. */
export interface TableRecord {
  readonly id: string;
  readonly kind: TableKind;
  /** Location where Lance clients write; null for an engine table. */
  readonly location: string | null;
  readonly properties: Readonly<Record<string, string>>;
  readonly createdMillis: number;
  /**
   * Whether the configured retention applies to its versions. Absent for tables from before it
   * existed, and for tables that Lance clients write.
   */
  readonly expires?: true;
  /** The gateway that alone has the files; absent where every gateway of the catalog reaches them. */
  readonly gateway?: TableGateway;
}

/** Record of a dropped table, for its restoration. */
export interface DroppedRecord {
  readonly path: ObjectPath;
  readonly record: TableRecord;
  readonly droppedMillis: number;
}

/** Record of one version of a table. */
export interface VersionRecord {
  readonly version: bigint;
  readonly timestampMillis: number;
  /** Final path of the manifest inside the table's folder. */
  readonly manifest: string;
  /** Path under which the manifest was written before the commit; its first reader renames it. */
  readonly staging: string;
  readonly manifestBytes: number;
  /** Seal of the manifest; absent for manifests from before seals, whose table lists theirs, and for those of Lance clients. */
  readonly seal?: FileSeal;
  readonly metadata: Readonly<Record<string, string>>;
  /**
   * Path under which a Lance client staged the manifest; `staging` is a second link unknown to the
   * client.
   */
  readonly claimed?: string;
  /** ETag that a Lance client sent for its staged file. */
  readonly eTag?: string;
  /** SHA-256 of the manifest, for tables that clients also write without the catalog. */
  readonly digest?: string;
}

/** Record of a branch. Only `pending` changes. */
export interface BranchRecord {
  /** Key of its versions in the store and in the table's folder. */
  readonly id: string;
  /**
   * Lines from which it was branched, nearest first: name, id (`main` for main) and last shared
   * version.
   */
  readonly lineage: readonly {
    readonly branch: string;
    readonly key: string;
    readonly version: bigint;
  }[];
  /** Size of its first manifest in bytes. */
  readonly manifestBytes: number;
  readonly createdMillis: number;
  /**
   * What is not yet done in the folder of a Lance table: its file is to be written, or its file and its folder
   * are to be removed. A branch whose removal is pending is none any more.
   */
  readonly pending?: 'write' | 'removal';
}

export interface TagRecord {
  /** Branch of the version; null for main. */
  readonly branch: string | null;
  /** The tagged version, and the size of its manifest in bytes. */
  readonly version: bigint;
  readonly manifestBytes: number;
  readonly createdMillis: number;
  readonly updatedMillis: number;
  /** What is not yet done to its file in the folder of a Lance table; a tag to be removed is none. */
  readonly pending?: 'write' | 'removal';
}

/** A record with the value that was read, which a later commit checks. */
export interface Stored<Content> {
  readonly key: string;
  readonly value: Uint8Array;
  readonly content: Content;
}
