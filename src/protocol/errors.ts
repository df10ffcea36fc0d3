/**
 * The error table of the protocol: one row per code, with the HTTP status of
 * the namespace dialect. Everything that answers an error looks it up here.
 */
const rows = {
  Unsupported: { code: 0, status: 406 },
  NamespaceNotFound: { code: 1, status: 404 },
  NamespaceAlreadyExists: { code: 2, status: 409 },
  NamespaceNotEmpty: { code: 3, status: 409 },
  TableNotFound: { code: 4, status: 404 },
  TableAlreadyExists: { code: 5, status: 409 },
  TableIndexNotFound: { code: 6, status: 404 },
  TableIndexAlreadyExists: { code: 7, status: 409 },
  TableTagNotFound: { code: 8, status: 404 },
  TableTagAlreadyExists: { code: 9, status: 409 },
  TransactionNotFound: { code: 10, status: 404 },
  TableVersionNotFound: { code: 11, status: 404 },
  TableColumnNotFound: { code: 12, status: 404 },
  InvalidInput: { code: 13, status: 400 },
  ConcurrentModification: { code: 14, status: 409 },
  PermissionDenied: { code: 15, status: 403 },
  Unauthenticated: { code: 16, status: 401 },
  ServiceUnavailable: { code: 17, status: 503 },
  Internal: { code: 18, status: 500 },
  InvalidTableState: { code: 19, status: 409 },
  TableSchemaValidationError: { code: 20, status: 400 },
  Throttling: { code: 21, status: 429 },
  TableBranchNotFound: { code: 22, status: 404 },
  TableBranchAlreadyExists: { code: 23, status: 409 },
} as const;

export type ErrorName = keyof typeof rows;

/** One row of the error table. */
export interface ErrorRow {
  readonly name: ErrorName;
  /** The protocol's stable number, 0 to 23. */
  readonly code: number;
  /** The HTTP status to the namespace dialect. */
  readonly status: number;
}

export const errorTable: readonly ErrorRow[] = Object.entries(rows).map(([name, row]) => ({
  name: name as ErrorName,
  ...row,
}));

export function errorRow(name: ErrorName): ErrorRow {
  return { name, ...rows[name] };
}

/**
 * A refusal that is sent to the caller: a name of the error table and one
 * sentence. It never holds a credential.
 */
export class CatalogError extends Error {
  readonly row: ErrorRow;
  readonly detail: string | undefined;

  constructor(name: ErrorName, message: string, detail?: string) {
    super(message);
    this.name = 'CatalogError';
    this.row = errorRow(name);
    this.detail = detail;
  }
}

/** A temporary refusal, 503 code 17 by default. Answers carry `Retry-After` if a time is given. */
export class TryAgain extends CatalogError {
  /** Whole seconds, or an HTTP date (RFC 9110 section 10.2.3). */
  readonly retryAfter: string | undefined;

  constructor(message: string, retryAfter?: string, name: ErrorName = 'ServiceUnavailable') {
    super(name, message);
    this.retryAfter = retryAfter;
  }
}
