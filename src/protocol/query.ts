import { CatalogError } from './errors.ts';
import { choiceOf } from './mode.ts';
import type { Operation } from './operations/operation.ts';
import { parameterKind, readParameter } from './query-parameter.ts';

/** The parameters of a query by their names, decoded, in the order in which they came. */
export type Query = ReadonlyMap<string, readonly string[]>;

/** Parameters that select the object or the operation: a repetition is ambiguous even if it has no effect. */
const decisive = ['delimiter', 'mode', 'branch'];

/**
 * The query of a request target, without its `?`. A `+` is a space to both dialects:
 * both client families write their queries as forms, or as `%20` and `%2B`, so that no client means a plus by it.
 * @throws CatalogError InvalidInput for bad percent-encoding or a decisive parameter given twice.
 */
export function parseQuery(text: string): Query {
  const query = new Map<string, string[]>();
  for (const pair of text.split('&')) {
    if (pair !== '') addPair(query, pair);
  }
  for (const name of decisive) checkSingle(query, name);
  return query;
}

function addPair(query: Map<string, string[]>, pair: string): void {
  const at = pair.indexOf('=');
  const name = decodeForm(at < 0 ? pair : pair.slice(0, at));
  const value = at < 0 ? '' : decodeForm(pair.slice(at + 1));
  const values = query.get(name);
  if (values === undefined) query.set(name, [value]);
  else values.push(value);
}

function checkSingle(query: Query, name: string): void {
  if ((query.get(name)?.length ?? 0) < 2) return;
  throw new CatalogError('InvalidInput', `the query parameter ${name} stands more than once`);
}

/**
 * The parameters that an operation knows; others are left out.
 * @throws CatalogError InvalidInput when one is repeated that may not be, or is not of its kind.
 */
export function queryOf(operation: Operation, query: Query): Query {
  if (query.size === 0) return query;
  const recognized = operation.query.flatMap((name): [string, readonly string[]][] => {
    const values = query.get(name);
    return values === undefined ? [] : [[name, values]];
  });
  for (const [name, values] of recognized) checkParameter(operation, name, values, query);
  return new Map(recognized);
}

function checkParameter(
  operation: Operation,
  name: string,
  values: readonly string[],
  query: Query,
): void {
  if (!operation.repeatable.includes(name)) checkSingle(query, name);
  for (const value of values) {
    if (parameterKind(name) === 'choice') choiceOf(operation, name, value);
    else readParameter(name, value);
  }
}

/**
 * A part of a request target, percent-decoded once (RFC 3986).
 * @throws CatalogError InvalidInput for a broken escape, or bytes that are not UTF-8.
 */
export function decodePercent(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    throw new CatalogError('InvalidInput', `${JSON.stringify(text)} is not valid percent-encoding`);
  }
}

/** The same where `+` stands for a space, as in a form (`application/x-www-form-urlencoded`). */
export function decodeForm(text: string): string {
  return decodePercent(text.replaceAll('+', ' '));
}
