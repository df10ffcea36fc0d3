import type { Operation } from '../../protocol/operations/operation.ts';
import type { RemoteOptions } from './backend-options.ts';
import { CONTEXT_PREFIXES } from '../../protocol/context.ts';
import { operations } from '../../protocol/operations/operations.ts';

/** Source of a header for a backend: the client, or the gateway. */
type Source = 'client' | 'gateway';

/** A header of a request that a backend gets. */
interface CrossingHeader {
  /** In lower case; a `*` at the end stands for any text. */
  readonly name: string;
  readonly source: Source;
  /** Its meaning, for the documents. */
  readonly meaning: string;
}

/** Headers that cross with CreateTable alone, which the guard has judged by then. */
const tableHeaders = operations.CreateTable.headers;

/**
 * Every header of a client's request that a backend gets. The list is closed: any other header stays here.
 * Forwarding, the examples in `deploy/` and the documents follow it.
 */
export const crossingHeaders: readonly CrossingHeader[] = [
  client('accept', 'media types of the answer'),
  client('content-type', 'media type of the body'),
  client('content-length', 'length of the body'),
  client('content-range', 'part of the body'),
  client('range', 'part of the answer'),
  client('user-agent', 'the client; decides the dialect'),
  client('phalanx-version', 'version of the LanceDB protocol'),
  gateway('traceparent', 'the trace; one begins at the gateway if the client sends none'),
  gateway('tracestate', 'state of the trace'),
  gateway('x-request-id', "the request id; a new one if the client's is not valid"),
  client('x-request-timeout-ms', 'time limit of a query or merge, in ms'),
  client('x-lancedb-min-version', 'freshness: the newest version that the client wrote'),
  client('x-lancedb-min-timestamp', 'freshness: a time that the answer must not be older than'),
  client('x-lancedb-min-read-version', 'freshness: the newest version that the client read'),
  ...CONTEXT_PREFIXES.map((prefix) => client(`${prefix}*`, 'context of the request')),
  ...tableHeaders.map((name) => client(name, 'field of CreateTable, on that operation only')),
];

function client(name: string, meaning: string): CrossingHeader {
  return { name, source: 'client', meaning };
}

function gateway(name: string, meaning: string): CrossingHeader {
  return { name, source: 'gateway', meaning };
}

/** The headers of a message, their names in lower case. */
export type HeaderFields = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Names and prefixes of the client's headers that a backend gets, from the one table of them. */
const fromClient = crossingHeaders.filter(({ source }) => source === 'client');
const passedOn: ReadonlySet<string> = new Set(
  fromClient
    .map(({ name }) => name)
    .filter((name) => !name.endsWith('*') && !tableHeaders.includes(name)),
);
const passedOnPrefixes = fromClient
  .filter(({ name }) => name.endsWith('*'))
  .map(({ name }) => name.slice(0, -1));

/** Headers of a backend's answer that the client gets. */
const passedBack: ReadonlySet<string> = new Set([
  'accept-ranges',
  'allow',
  'content-encoding',
  'content-range',
  'etag',
  'last-modified',
  'phalanx-version',
  'retry-after',
]);

const passedBackPrefixes = ['x-lance-', 'x-lancedb-'];

/** The client's headers that a backend gets for an operation. */
export function headersOut(headers: HeaderFields, operation: Operation): Record<string, string> {
  const retained = chosen(headers, passedOn, passedOnPrefixes);
  if (operation.name !== 'CreateTable') return retained;
  for (const name of tableHeaders) {
    const value = headers[name];
    if (typeof value === 'string' && hopOf(headers.connection)?.has(name) !== true) {
      retained[name] = value;
    }
  }
  return retained;
}

/** The headers of a backend's answer that the client gets, save the type and length of its body. */
export function headersBack(headers: HeaderFields): Record<string, string> {
  return chosen(headers, passedBack, passedBackPrefixes);
}

function chosen(
  headers: HeaderFields,
  names: ReadonlySet<string>,
  prefixes: readonly string[],
): Record<string, string> {
  const retained: Record<string, string> = {};
  const hop = hopOf(headers.connection);
  for (const name in headers) {
    const field = headers[name];
    if (field === undefined) continue;
    if (!names.has(name) && !(name.startsWith('x-') && beginsWithOne(name, prefixes))) continue;
    if (hop?.has(name) === true) continue;
    // The values of a repeated field are a list (RFC 9110 section 5.3).
    retained[name] = typeof field === 'string' ? field : field.join(', ');
  }
  return retained;
}

function beginsWithOne(name: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => name.startsWith(prefix));
}

/** The headers that are for this hop alone, since `Connection` names them (RFC 9110 section 7.6.1). */
function hopOf(connection: HeaderFields[string]): ReadonlySet<string> | undefined {
  if (typeof connection !== 'string' || connection === 'keep-alive' || connection === 'close') {
    return undefined;
  }
  return new Set(connection.split(',').map((name) => name.trim().toLowerCase()));
}

/** Selects a database of a backend that has several. */
const DATABASE = 'x-lancedb-database';

/** The header that selects the backend's database, if its configuration names one. */
export function databaseHeader({
  database,
}: Pick<RemoteOptions, 'database'>): Readonly<Record<string, string>> {
  return database === undefined ? {} : { [DATABASE]: database };
}

/** The header that carries a backend's own credential. */
export function credentialHeader(credential: string | undefined): Readonly<Record<string, string>> {
  if (credential === undefined) return {};
  return credential.startsWith('Bearer ')
    ? { authorization: credential }
    : { 'x-api-key': credential };
}
