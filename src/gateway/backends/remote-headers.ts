import type { Operation } from '../../protocol/operation.ts';
import type { RemoteOptions } from './backend-options.ts';
import { crossingHeaders, tableHeaders } from './crossing-headers.ts';

/** The headers of a message, their names in lower case. */
export type Fields = Readonly<Record<string, string | readonly string[] | undefined>>;

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

/** What of an answer's headers a client gets. */
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
export function headersOut(headers: Fields, operation: Operation): Record<string, string> {
  const kept = chosen(headers, passedOn, passedOnPrefixes);
  if (operation.name !== 'CreateTable') return kept;
  for (const name of tableHeaders) {
    const value = headers[name];
    if (typeof value === 'string' && hopOf(headers.connection)?.has(name) !== true) {
      kept[name] = value;
    }
  }
  return kept;
}

/** The headers of a backend's answer that the client gets, save the type and length of its body. */
export function headersBack(headers: Fields): Record<string, string> {
  return chosen(headers, passedBack, passedBackPrefixes);
}

function chosen(
  headers: Fields,
  names: ReadonlySet<string>,
  prefixes: readonly string[],
): Record<string, string> {
  const kept: Record<string, string> = {};
  const hop = hopOf(headers.connection);
  for (const name in headers) {
    const value = headers[name];
    if (typeof value !== 'string') continue;
    if (!names.has(name) && !(name.startsWith('x-') && beginsWithOne(name, prefixes))) continue;
    if (hop === undefined || !hop.has(name)) kept[name] = value;
  }
  return kept;
}

function beginsWithOne(name: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => name.startsWith(prefix));
}

/** The headers that are for this hop alone, since `Connection` names them (RFC 9110 section 7.6.1). */
function hopOf(connection: Fields[string]): ReadonlySet<string> | undefined {
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
