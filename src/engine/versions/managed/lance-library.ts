import { CatalogError } from '../../../protocol/errors.ts';
import type { ObjectPath } from '../../../protocol/identifier.ts';
import type { Statement } from '../../base/statement.ts';
import type { VersionRecord } from '../../format/records.ts';
import type { QueryRequest } from '../../request/request.ts';

/** A version of a Lance table that is committed; its manifest has its final name. */
type CommittedManifest = Pick<VersionRecord, 'version' | 'manifest'>;

/** A Lance table at one version. */
export interface LanceTableVersion {
  /** The name of the table, for errors. */
  readonly path: ObjectPath;
  /** Absolute path of its folder. */
  readonly location: string;
  /** A branch, or `main`. */
  readonly branch: string;
  readonly at: CommittedManifest;
  /** A version of main. Branches are opened through it. */
  readonly main: CommittedManifest;
}

/** The budget, the owner and the signal of a request. */
export type LanceStatement = Pick<Statement, 'budget' | 'owner' | 'signal'>;

/**
 * Row operations on Lance tables, done by the Lance library. All throw CatalogError: InvalidInput and
 * TableColumnNotFound for what the library refuses, OverBudget, Internal for files that cannot be read,
 * `LibraryEnded` when the process of the library has ended.
 */
export interface LanceLibrary {
  /** The rows as an Arrow file. Resolves once the first bytes are there. */
  query(
    table: LanceTableVersion,
    query: QueryRequest,
    statement: LanceStatement,
  ): Promise<AsyncGenerator<Uint8Array>>;
  /** The number of rows, or of those that a predicate keeps. */
  count(
    table: LanceTableVersion,
    predicate: string | null,
    statement: LanceStatement,
  ): Promise<bigint>;
  /** The plan of a query as text. */
  explain(
    table: LanceTableVersion,
    query: QueryRequest,
    verbose: boolean,
    statement: LanceStatement,
  ): Promise<string>;
  /** The plan of a query that is run, with measurements. */
  analyze(
    table: LanceTableVersion,
    query: QueryRequest,
    statement: LanceStatement,
  ): Promise<string>;
}

/** The process of the library ended while it worked on a request. Reads can be repeated. */
export class LibraryEnded extends CatalogError {
  /** @param table The canonical path of the table. */
  constructor(table: string) {
    super(
      'ServiceUnavailable',
      `the process of the Lance library ended while it worked on table ${table}: repeat the request, or ask for less (lance.memory bounds the process)`,
    );
  }
}
