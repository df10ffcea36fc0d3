import { dialectOf, type Dialect } from './dialect.ts';
import { rootedPath } from './database.ts';
import { CatalogError } from './errors.ts';
import { checkPath, type ObjectPath } from './identifier.ts';
import type { Operation } from './operations/operation.ts';
import { namesObject } from './operations/operations.ts';
import { decodeForm, decodePercent, parseQuery, queryOf, type Query } from './query.ts';
import { MAX_DELIMITER_BYTES } from './query-parameter.ts';
import { findRoute, type RouteEnd } from './operations/route-tree.ts';

/** The delimiter of identifiers when the query names none. */
const DEFAULT_DELIMITER = '$';

/** A request target that is an operation of the protocol. */
export interface OperationMatch {
  readonly kind: 'operation';
  readonly operation: Operation;
  readonly dialect: Dialect;
  /** The object of the route; `[]` for the root and for routes without an object. */
  readonly object: ObjectPath;
  readonly indexName?: string | undefined;
  /** The new name, for `/rename/to/{target}`. */
  readonly target?: ObjectPath | undefined;
  /** The namespace in which its names begin, where it is for a database. */
  readonly root?: ObjectPath | undefined;
  readonly delimiter: string;
  /** The parameters that the operation knows, checked. */
  readonly query: Query;
  /** Parameters of the route besides identifiers: `index_name`, `column`, `row_id`. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** The route of a request target; for a known path with another verb, its verbs. */
export type RouteMatch =
  | OperationMatch
  | { readonly kind: 'unknown' }
  | { readonly kind: 'method'; readonly allow: readonly string[] };

/**
 * Parses a request by its verb, its raw target (of the request line) and its `User-Agent`. Only doubled
 * slashes at the front and one slash at the end are normalised, and nothing is decoded twice.
 * @throws CatalogError InvalidInput for an ambiguous target.
 */
export function matchRoute(
  method: string,
  target: string,
  userAgent: string | undefined,
): RouteMatch {
  const at = target.indexOf('?');
  const path = at < 0 ? target : target.slice(0, at);
  checkRaw(target, path);
  const segments = segmentsOf(path);
  if (segments[0] !== 'v1') return { kind: 'unknown' };
  if (segments.includes('')) throw invalid(`the path ${JSON.stringify(path)} has an empty segment`);
  const place = findRoute(segments);
  if (place === undefined) return unknown(segments);
  const end = place.ends.get(method);
  if (end === undefined) return { kind: 'method', allow: [...place.ends.keys()] };
  const query = parseQuery(at < 0 ? '' : target.slice(at + 1));
  return operationMatch(end, place.values, query, dialectOf(path, userAgent));
}

/**
 * The same target, with a namespace as the root of all that it names. What names no
 * object stays as it is, and so does `system`.
 * @throws CatalogError InvalidInput for a path that becomes too long.
 */
export function withRoot(match: OperationMatch, root: ObjectPath): OperationMatch {
  if (root.length === 0) return match;
  const { operation, target } = match;
  const names =
    operation.object === 'root' || (namesObject(operation) && operation.object !== 'transaction');
  return {
    ...match,
    root,
    object: names ? rootedPath({ root }, match.object) : match.object,
    target: target && rootedPath({ root }, target),
  };
}

const VISIBLE = /^[\u0021-\u007e]*$/;

/** Refuses characters that URL parsers treat differently. */
function checkRaw(target: string, path: string): void {
  if (!VISIBLE.test(target)) {
    throw invalid('the request target has a character that must be percent-encoded');
  }
  if (target.includes('#')) throw invalid('the request target has a fragment');
  if (path.includes('\\')) throw invalid('the path has a backslash');
  if (path.split('/').includes('..')) throw invalid('the path has a ".." segment');
}

/** The raw segments; a base address that ends with a slash doubles the first one. */
function segmentsOf(path: string): string[] {
  const segments = path.replace(/^\/+/, '').split('/');
  if (segments.length > 1 && segments.at(-1) === '') segments.pop();
  return segments;
}

/** An unknown path; refused if another parser could take it for a route. */
function unknown(segments: readonly string[]): RouteMatch {
  if (segments.includes('.')) throw invalid('the path has a "." segment');
  if (findRoute(segments.map(decodePercent)) !== undefined) {
    throw invalid('the fixed parts of a route may not be percent-encoded');
  }
  return { kind: 'unknown' };
}

function operationMatch(
  end: RouteEnd,
  raw: readonly string[],
  parsed: Query,
  dialect: Dialect,
): OperationMatch {
  const { operation } = end;
  const query = queryOf(operation, parsed);
  const delimiter = delimiterOf(query);
  const decode = dialect === 'namespace' ? decodeForm : decodePercent;
  const values = new Map(end.parameters.map((name, at) => [name, decode(raw[at]!)]));
  const indexName = values.get('index_name');
  return {
    kind: 'operation',
    operation,
    dialect,
    object: objectOf(operation, values.get('id'), delimiter),
    indexName,
    target: targetOf(values.get('target'), delimiter),
    delimiter,
    query,
    parameters: parametersOf(values),
  };
}

const noParameters: ReadonlyMap<string, string> = new Map();

/** Names on the route other than identifiers. An index name may be any name of a table. */
function parametersOf(values: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  if (values.size === 0 || (values.size === 1 && values.has('id'))) return noParameters;
  const others = [...values].filter(([name]) => name !== 'id' && name !== 'target');
  for (const [, value] of others) checkPath([value]);
  return new Map(others);
}

function delimiterOf(query: Query): string {
  const delimiter = query.get('delimiter')?.[0] ?? DEFAULT_DELIMITER;
  if (delimiter === '') throw invalid('the delimiter is empty');
  if (/\p{Cc}/u.test(delimiter)) throw invalid('the delimiter holds a control character');
  if (Buffer.byteLength(delimiter) > MAX_DELIMITER_BYTES) {
    throw invalid(`the delimiter is longer than ${MAX_DELIMITER_BYTES} bytes`);
  }
  return delimiter;
}

function objectOf(operation: Operation, id: string | undefined, delimiter: string): ObjectPath {
  if (id === undefined) return [];
  const path = parseIdentifier(id, delimiter);
  if (path.length === 0 && operation.object !== 'namespace') {
    throw invalid(`the root is not a ${operation.object}`);
  }
  return path;
}

/**
 * The path that an identifier stands for: its parts between the delimiters, the
 * root where it is the delimiter itself.
 * @throws CatalogError InvalidInput for an empty part and whatever else `checkPath` refuses.
 */
function parseIdentifier(id: string, delimiter: string): ObjectPath {
  if (id === delimiter) return [];
  const path = id.split(delimiter);
  checkPath(path);
  return path;
}

function targetOf(id: string | undefined, delimiter: string): ObjectPath | undefined {
  if (id === undefined) return undefined;
  const target = parseIdentifier(id, delimiter);
  if (target.length === 0) throw invalid('the root is not a table');
  return target;
}

function invalid(message: string): CatalogError {
  return new CatalogError('InvalidInput', message);
}
