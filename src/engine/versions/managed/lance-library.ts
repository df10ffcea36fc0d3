import { CatalogError } from '../../../protocol/errors.ts';
import type { ObjectPath } from '../../../protocol/identifier.ts';
import type { Statement } from '../../base/statement.ts';
import type { VersionRecord } from '../../format/records.ts';
import type { QueryRequest } from '../../request/request.ts';

/** A version of a Lance table that is committed; its manifest has its final name. */
type CommittedManifest = Pick<VersionRecord, 'version' | 'manifest'>;

/** Where a Lance table lies. */
export interface LancePlace {
  /** Id of the table: another table may take its location. */
  readonly id: string;
  /** The name of the table, for errors. */
  readonly path: ObjectPath;
  /** Absolute path of its folder. */
  readonly location: string;
  /** A branch, or `main`. */
  readonly branch: string;
}

/** A Lance table at one version. */
export interface LanceTableVersion extends LancePlace {
  readonly at: CommittedManifest;
  /** A version of main. Branches are opened through it. */
  readonly main: CommittedManifest;
}

/** A change of a Lance table: its kind is that of the commit in the audit log. */
export type LanceTableChange =
  /** The first version of a table, in a folder that is empty. */
  | { readonly kind: 'create' }
  | { readonly kind: 'append' | 'overwrite' }
  | { readonly kind: 'delete'; readonly predicate: string }
  | {
      readonly kind: 'update';
      readonly predicate: string | null;
      /** Columns and the SQL of their new values. */
      readonly updates: readonly (readonly [string, string])[];
    }
  | {
      readonly kind: 'merge';
      readonly on: readonly string[];
      readonly update: boolean;
      readonly updateIf: string | null;
      readonly insert: boolean;
      readonly remove: boolean;
      readonly removeIf: string | null;
      readonly useIndex: boolean;
    }
  | {
      readonly kind: 'add_columns';
      /** Names and the SQL of the values. Without any the columns are those of the Arrow file, and null. */
      readonly expressions: readonly (readonly [string, string])[];
    }
  | { readonly kind: 'alter_columns'; readonly alterations: readonly LanceAlteration[] }
  | { readonly kind: 'drop_columns'; readonly columns: readonly string[] }
  | {
      readonly kind: 'update_field_metadata';
      readonly updates: readonly LanceFieldUpdate[];
    }
  /** Makes an older version of the line the newest. */
  | { readonly kind: 'restore'; readonly version: number }
  /** Merges small fragments and extends indices, by a version for each step. */
  | { readonly kind: 'compact' }
  | {
      readonly kind: 'create_index';
      readonly column: string;
      readonly name: string;
      /** Whether it takes the place of an index of its name. */
      readonly replace: boolean;
      readonly index: LanceIndexSpec;
    }
  | { readonly kind: 'drop_index'; readonly name: string }
  /** Begins a branch with a version of the line of the table. */
  | { readonly kind: 'create_branch'; readonly name: string; readonly version: number };

/** The kinds of index that the library for Node can build. */
export const lanceIndexTypes = [
  'BTREE',
  'BITMAP',
  'LABEL_LIST',
  'FM',
  'FTS',
  'IVF_FLAT',
  'IVF_PQ',
  'IVF_RQ',
  'IVF_HNSW_PQ',
  'IVF_HNSW_SQ',
] as const;

export type LanceIndexType = (typeof lanceIndexTypes)[number];

/** Types of indices as the library names them in lists, and as the protocol does. Others are `Unknown` to clients. */
export const lanceIndexNames: Readonly<Record<string, string>> = {
  BTree: 'BTREE',
  Bitmap: 'BITMAP',
  LabelList: 'LABEL_LIST',
  Fm: 'FM',
  FTS: 'FTS',
  IvfFlat: 'IVF_FLAT',
  IvfSq: 'IVF_SQ',
  IvfPq: 'IVF_PQ',
  IvfRq: 'IVF_RQ',
  IvfHnswFlat: 'IVF_HNSW_FLAT',
  IvfHnswPq: 'IVF_HNSW_PQ',
  IvfHnswSq: 'IVF_HNSW_SQ',
};

/** An index to build: its kind, and options by their names in the library. */
export interface LanceIndexSpec {
  readonly type: LanceIndexType;
  readonly options: Readonly<Record<string, string | number | boolean>>;
}

/** An index of a Lance table as the library describes it. */
export interface LanceIndex {
  readonly name: string;
  readonly indexType: string;
  readonly columns: readonly string[];
  readonly indexUuid?: string;
  readonly typeUrl?: string;
  /** RFC 3339. */
  readonly createdAt?: string;
  readonly numIndexedRows?: number;
  readonly numUnindexedRows?: number;
  readonly sizeBytes?: number;
  readonly numSegments?: number;
  readonly indexVersion?: number;
  readonly indexDetails?: unknown;
}

/** What an index covers. */
export interface LanceIndexStats {
  readonly numIndexedRows: number;
  readonly numUnindexedRows: number;
  readonly indexType: string;
  readonly distanceType?: string;
  readonly numIndices?: number;
}

/** A change of one column; null members leave a property unchanged. */
interface LanceAlteration {
  readonly path: string;
  readonly rename: string | null;
  readonly nullable: boolean | null;
  /** The type in the vocabulary of LanceDB, as JSON. */
  readonly type: string | null;
}

/** A change of one field's metadata; a null value takes the key away. */
interface LanceFieldUpdate {
  readonly path: string;
  readonly metadata: Readonly<Record<string, string | null>>;
  /** Whether unnamed keys are removed. */
  readonly replace: boolean;
}

/**
 * The catalog for one change: its versions, and the commit of the change; a compaction has several. `create` is asked again after
 * a conflict. When it rejects, the change is given up, and nothing of it remains.
 */
export interface LanceVersions {
  /** Whether versions may become others than the library staged: it opens the table anew for its next change. */
  readonly isRewritten?: boolean;
  /** The newest version; undefined if there is none. */
  newest(branch: string): Promise<object | undefined>;
  at(branch: string, version: unknown): Promise<object>;
  /** Commits a staged manifest. Undefined when another version is the next one. */
  create(branch: string, body: Readonly<Record<string, unknown>>): Promise<object | undefined>;
}

/** Bytes that another process can read for itself. */
export interface SharedBytes {
  readonly path: string;
  readonly start: number;
  /** Their CRC-32. */
  readonly sum: number;
}

/** Rows as an Arrow file. */
export interface LanceRowsPart {
  readonly bytes: number;
  /** Where the bytes lie; undefined for those that are in memory, or on a disk that others do not reach. */
  readonly shared?: SharedBytes | undefined;
  /** The bytes from the beginning, each time. */
  pieces(): AsyncIterable<Uint8Array>;
}

/** The rows of a change, or its columns, as an Arrow file. */
export interface LanceRowsFile extends LanceRowsPart {
  /** Files of the rows behind these, if one is not enough. */
  readonly later?: readonly LanceRowsPart[];
  /** Frees what the file takes, in any state. Does not throw. */
  close(): Promise<void>;
}

/** A small file that is in memory. */
export function heldFile(file: Uint8Array): LanceRowsFile {
  return {
    bytes: file.byteLength,
    pieces: async function* () {
      yield file;
    },
    close: async () => undefined,
  };
}

/** The numbers that the library gives for a change, by their names in its results. */
export type LanceCounts = Readonly<Record<string, number>>;

/** The budget, the owner and the signal of a request. */
export type LanceStatement = Pick<Statement, 'budget' | 'owner' | 'signal'>;

/**
 * Operations on Lance tables, done by the Lance library. All throw CatalogError: InvalidInput and
 * TableColumnNotFound for what the library refuses, OverBudget, Internal for files that cannot be read,
 * `LibraryEnded` when the process of the library has ended.
 */
export interface LanceLibrary {
  /** Most bytes of rows that the library takes at once. */
  readonly rowBytes: number;
  /** The rows as an Arrow file. Resolves once the first bytes are there. */
  query(
    table: LanceTableVersion,
    query: QueryRequest,
    statement: LanceStatement,
  ): Promise<AsyncGenerator<Uint8Array>>;
  /** Uses the memory of a piece of a query's rows again. Nothing may refer to it any more. */
  reuse(piece: Uint8Array): void;
  /** The number of rows, or of those that a predicate keeps. */
  count(
    table: LanceTableVersion,
    predicate: string | null,
    statement: LanceStatement,
  ): Promise<bigint>;
  indices(table: LanceTableVersion, statement: LanceStatement): Promise<readonly LanceIndex[]>;
  /** What an index covers; null if there is none of its name. */
  indexStats(
    table: LanceTableVersion,
    name: string,
    statement: LanceStatement,
  ): Promise<LanceIndexStats | null>;
  /** Reads an index into the cache of its process. */
  prewarm(table: LanceTableVersion, name: string, statement: LanceStatement): Promise<void>;
  /**
   * All rows of a version in some columns, each batch as an Arrow file. The version is opened for
   * this alone: nothing of it is remembered.
   */
  scan(
    table: LanceTableVersion,
    columns: readonly string[],
    statement: LanceStatement,
  ): Promise<AsyncGenerator<Uint8Array>>;
  /**
   * Rows of a version in some columns, each batch as an Arrow file. The id of each row is its last column.
   * @param ids The ids of the rows; all rows if null.
   */
  rows(
    table: LanceTableVersion,
    columns: readonly string[],
    ids: BigUint64Array | null,
    statement: LanceStatement,
  ): Promise<AsyncGenerator<Uint8Array>>;
  /** The plan of a query as text. */
  explain(
    table: LanceTableVersion,
    query: QueryRequest,
    verbose: boolean,
    statement: LanceStatement,
  ): Promise<string>;
  /**
   * Changes a table.
   * @param table At its newest version, if rows of main are changed.
   * @param rows The rows of the change, or its columns, in one file; none if null. The caller closes them.
   * @throws what `versions.create` rejected with
   */
  change(
    table: LancePlace | LanceTableVersion,
    change: LanceTableChange,
    rows: LanceRowsPart | null,
    versions: LanceVersions,
    statement: LanceStatement,
  ): Promise<LanceCounts>;
  /** The plan of a query that is run, with measurements. */
  analyze(
    table: LanceTableVersion,
    query: QueryRequest,
    statement: LanceStatement,
  ): Promise<string>;
}

/** The process of the library ended while it worked on a request. Reads can be repeated. */
export class LibraryEnded extends CatalogError {
  /**
   * @param table The canonical path of the table.
   * @param isLoaded Whether the process had loaded the library.
   */
  constructor(table: string, isLoaded: boolean) {
    super(
      'ServiceUnavailable',
      isLoaded
        ? `the process of the Lance library ended while it worked on table ${table}: repeat the request, or ask for less (lance.memory bounds the process)`
        : `the process of the Lance library for table ${table} ended before the library was loaded: repeat the request, and find the reason in the log of the gateway`,
    );
  }
}
