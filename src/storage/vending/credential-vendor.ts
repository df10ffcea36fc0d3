/** What credentials of a table may do: read it, commit to it without reading its rows, or both. */
export type Access = 'read' | 'commit' | 'read and commit';

/** There can be no credentials for a table. */
export class Unvendable extends Error {}

/** For whom and for what credentials are issued. */
export interface VendRequest {
  /** Key of the table's folder. */
  readonly location: string;
  /** A text that differs between tables and changes with the name of one. */
  readonly table: string;
  readonly subject: string;
  readonly access: Access;
}

/** Credentials of a table, as Lance clients take them. */
export interface VendedCredentials {
  /** Options of a Lance client with the secret: they go to the caller and nowhere else. */
  readonly options: Readonly<Record<string, string>>;
  /** Milliseconds since 1970; null for credentials that do not end. */
  readonly untilMillis: number | null;
}

/** Issues credentials for the tables of one object store. Throws StorageUnavailable, StorageRefused and Unvendable. */
export type IssueCredentials = (request: VendRequest) => Promise<VendedCredentials>;

/** An object store, and how credentials for its tables are issued. */
export interface VendingStore {
  readonly name: string;
  /** What the keys of its objects begin with, without the slash. */
  readonly root: string;
  /** Null if it is not configured. */
  readonly issue: IssueCredentials | null;
}

/** Finds the object store of a table; undefined for a folder. */
export type VendingStores = (location: string) => VendingStore | undefined;
