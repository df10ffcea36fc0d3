import type { ObjectPath } from '../../protocol/identifier.ts';

/** What the store keeps of a namespace. */
export interface NamespaceRecord {
  readonly id: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly createdMillis: number;
}

/** Who writes a table: nobody yet, this engine, or Lance clients themselves. */
export type TableKind = 'declared' | 'engine' | 'lance';

/** What the store keeps of a table. Its data lies under its id, so a rename moves nothing. */
export interface TableRecord {
  readonly id: string;
  readonly kind: TableKind;
  /** Where Lance clients write, or null for an engine table. */
  readonly location: string | null;
  readonly properties: Readonly<Record<string, string>>;
  readonly createdMillis: number;
}

/** What the store keeps of a table that was dropped, so that it can be brought back. */
export interface DroppedRecord {
  readonly path: ObjectPath;
  readonly record: TableRecord;
  readonly droppedMillis: number;
}

/** What the store keeps of one version of a table. */
export interface VersionRecord {
  readonly version: bigint;
  readonly timestampMillis: number;
  /** Name of the manifest inside the table's folder, once it is final. */
  readonly manifest: string;
  /** Name under which the manifest was written before the commit; whoever reads it first finishes it. */
  readonly staging: string;
  readonly manifestBytes: number;
  readonly metadata: Readonly<Record<string, string>>;
  /** The name under which a Lance client staged the manifest; `staging` is a second name that the client does not know. */
  readonly claimed?: string;
  /** What a Lance client said of the file that it staged. */
  readonly eTag?: string;
  /** SHA-256 of the manifest's bytes, where clients write versions without the catalog as well. */
  readonly digest?: string;
}

/** What the store keeps of a branch. It never changes. */
export interface BranchRecord {
  /** What its versions lie under, in the store and in the table's folder. */
  readonly id: string;
  /** What it came from, the nearest first: a branch's name, its id (`main` for main) and the last version that both have. */
  readonly lineage: readonly {
    readonly branch: string;
    readonly key: string;
    readonly version: bigint;
  }[];
  /** The size in bytes of the manifest that it begins with. */
  readonly manifestBytes: number;
  readonly createdMillis: number;
}

/** What the store keeps of a tag. */
export interface TagRecord {
  /** The branch that the version is of; null for main. */
  readonly branch: string | null;
  /** The version that the tag names, and the size of its manifest in bytes. */
  readonly version: bigint;
  readonly manifestBytes: number;
  readonly createdMillis: number;
  readonly updatedMillis: number;
}

/** A record as it was read: its value is what a later commit checks against. */
export interface Stored<Content> {
  readonly key: string;
  readonly value: Uint8Array;
  readonly content: Content;
}
