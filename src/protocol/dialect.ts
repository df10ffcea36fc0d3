import type { ErrorRow } from './errors.ts';
import type { OperationName } from './operations/operation-name.ts';

/**
 * The kind of client: the LanceDB remote client, or a client of the namespace
 * specification. They disagree on a few answers.
 */
export type Dialect = 'lancedb' | 'namespace';

const ROOT_LISTING = /^\/+v1\/table\/?$/;

/**
 * The dialect of a request, by the path of its target (a query may follow) and its
 * `User-Agent`: LanceDB says so, or ends its path with a slash. Both forms of the
 * root's listing belong to both, so there only the user agent tells.
 */
export function dialectOf(path: string, userAgent: string | undefined): Dialect {
  if (isLanceDbClient(userAgent)) return 'lancedb';
  const plain = path.split('?', 1)[0]!;
  return plain.endsWith('/') && !ROOT_LISTING.test(plain) ? 'lancedb' : 'namespace';
}

/** Whether a `User-Agent` is that of a LanceDB client: all that a dialect depends on beside the path. */
export function isLanceDbClient(userAgent: string | undefined): boolean {
  return userAgent?.startsWith('LanceDB-') === true;
}

/** Routes on which LanceDB reads 404 as "no such index". */
const indexRoutes: ReadonlySet<OperationName> = new Set<OperationName>([
  'DescribeTableIndexStats',
  'DropTableIndex',
  'PrewarmTableIndex',
]);

/** Routes on which LanceDB reads 404 as "no such job". */
const jobRoutes: ReadonlySet<OperationName> = new Set<OperationName>([
  'DescribeJob',
  'CancelJob',
  'QueryJobEvents',
]);

/**
 * The HTTP status of an error to a dialect. LanceDB reads every 404 as a missing
 * table and sends every 409 again, so to it 404 is that alone (and a missing index
 * or job where it looks for one), and of the conflicts only code 14, which trying again
 * can mend, stays 409; the others are 400. The code is the same
 * for both.
 */
export function statusOf(
  row: ErrorRow,
  dialect: Dialect,
  operation: OperationName | undefined,
): number {
  if (dialect === 'namespace') return row.status;
  if (row.status === 404 && !isMissing(row, operation)) return 400;
  return row.status === 409 && row.name !== 'ConcurrentModification' ? 400 : row.status;
}

function isMissing(row: ErrorRow, operation: OperationName | undefined): boolean {
  if (row.name === 'TableNotFound') return true;
  if (operation === undefined) return false;
  if (row.name === 'TransactionNotFound') return jobRoutes.has(operation);
  return row.name === 'TableIndexNotFound' && indexRoutes.has(operation);
}
