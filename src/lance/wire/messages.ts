import type { LanceTableChange, SharedBytes } from '../../engine/versions/managed/lance-library.ts';
import type { NearestRequest, QueryRequest } from '../../engine/request/request.ts';

/** A version of a table that the catalog has committed. */
export interface CommittedVersion {
  readonly version: number;
  /** Path of its manifest in the table's folder. */
  readonly manifest: string;
}

/** How the library reaches a table in an object store. */
export interface StoreAccess {
  /** Name of the store in the configuration. */
  readonly name: string;
  /** URI of the table's folder. */
  readonly uri: string;
  /** Key of the folder in the bucket. */
  readonly folder: string;
  /** Options of the library for the store, with credentials of the table, or those of the gateway if there are none. */
  readonly options: Readonly<Record<string, string>>;
}

/** Identifies a connection to a store: connections with equal values are interchangeable. The library itself renews credentials that expire. */
export function connectionOf({ name, options }: StoreAccess): object {
  return 'expires_at_millis' in options ? { name } : options;
}

/** Where a table lies. */
export interface TablePlace {
  /** Id of the table. */
  readonly id: string;
  /** The table's folder: an absolute path, or the key of an object store. */
  readonly location: string;
  readonly branch: string;
  /** Absent for a table in a folder. */
  readonly store?: StoreAccess;
}

/** A table at one version. */
export interface TableAtVersion extends TablePlace {
  readonly at: CommittedVersion;
  /** A version of main, through which branches are opened; equal to `at` for main. */
  readonly main: CommittedVersion;
}

/** A vector search without its vectors, whose 32-bit floats are the bytes of the frame. */
export type NearestMessage = Omit<NearestRequest, 'vectors' | 'batch'> & {
  /** Length of each vector. */
  readonly lengths: readonly number[];
};

/** A query as JSON. */
export type QueryMessage = Omit<QueryRequest, 'nearest'> & {
  readonly nearest: NearestMessage | null;
};

/** Work of the library on a table. Every result is a stream of bytes. */
export type LibraryTask = {
  /** Canonical path of the table, for errors. */
  readonly name: string;
} & (ReadTask | ChangeTask);

/** Work on one version of a table. */
type ReadTask = { readonly table: TableAtVersion } & (
  | { readonly kind: 'query'; readonly query: QueryMessage }
  | { readonly kind: 'count'; readonly predicate: string | null }
  | { readonly kind: 'explain'; readonly query: QueryMessage; readonly verbose: boolean }
  | { readonly kind: 'analyze'; readonly query: QueryMessage }
  | { readonly kind: 'indices' }
  | { readonly kind: 'index_stats' | 'prewarm'; readonly index: string }
  /** Rows with their ids, as in a scan; all of them, or those whose ids are the bytes of the frame. */
  | { readonly kind: 'rows'; readonly columns: readonly string[]; readonly isAll: boolean }
  /** Each batch is an Arrow file, after its length as a 32-bit integer. */
  | { readonly kind: 'scan'; readonly columns: readonly string[] }
);

/** A change of the newest version. */
interface ChangeTask {
  readonly kind: 'change';
  readonly table: TablePlace;
  /** The newest version of main, for a change of rows that begins with it. */
  readonly newest: TableAtVersion | null;
  /** Whether the table may stay open for its next change. */
  readonly isKept: boolean;
  readonly change: LanceTableChange;
  /** Bytes of the Arrow file that belongs to the task; null if none does. */
  readonly rowBytes: number | null;
}

/** Messages to a library process. Tasks have numbers. */
export type ToLibrary =
  | {
      readonly kind: 'begin';
      readonly id: number;
      readonly task: LibraryTask;
      /** Time that the task may take, in ms; null for any. */
      readonly millis: number | null;
      /** Where the rows of a change lie; they follow in pieces if they lie nowhere. */
      readonly rows?: SharedBytes | undefined;
    }
  /** Requests one more piece. */
  | { readonly kind: 'more'; readonly id: number }
  /** A piece of the rows of a change; its bytes are those of the frame. */
  | { readonly kind: 'rows'; readonly id: number }
  /** The answer to a question about the versions of the table. */
  | {
      readonly kind: 'told';
      readonly id: number;
      readonly call: number;
      readonly reply: VersionReply;
    }
  | { readonly kind: 'cancel'; readonly id: number }
  /** New credentials for a table: the library asks for them before the last ones end. */
  | { readonly kind: 'store'; readonly location: string; readonly store: StoreAccess };

/** What the library asks of the catalog: `version/list`, `version/describe` or `version/create`. */
export interface VersionQuestion {
  readonly action: string;
  readonly branch: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** An answer of the catalog: an HTTP status and JSON. */
export interface VersionReply {
  readonly status: number;
  readonly value: object;
}

/** Messages of a library process: pieces of a result, then its end. */
export type FromLibrary =
  /** The library is loaded. */
  | { readonly kind: 'ready' }
  /** The library cannot be loaded. */
  | { readonly kind: 'unusable'; readonly reason: string }
  /** A piece of a result; its bytes are those of the frame. */
  | { readonly kind: 'piece'; readonly id: number }
  /**
   * A task has failed, though its work may still go on: `time` when its time is spent, else the
   * text of the library's error.
   */
  | {
      readonly kind: 'fault';
      readonly id: number;
      readonly over: 'time' | null;
      readonly text: string;
    }
  /** The rows of a change cannot be read where they lie. */
  | { readonly kind: 'unread'; readonly id: number }
  /** A change asks the catalog about the versions of its table. */
  | {
      readonly kind: 'ask';
      readonly id: number;
      readonly call: number;
      readonly question: VersionQuestion;
    }
  /** Nothing of a task runs any more. */
  | { readonly kind: 'end'; readonly id: number; readonly spent: number }
  /** Memory of the process, in bytes. */
  | { readonly kind: 'memory'; readonly bytes: number };
