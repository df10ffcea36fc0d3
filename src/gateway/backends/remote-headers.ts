/** The headers of a message, their names in lower case. */
export type Fields = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What of a request's headers a backend gets; everything else stays here, credentials first. */
const passedOn: ReadonlySet<string> = new Set([
  'accept',
  'content-length',
  'content-range',
  'content-type',
  'phalanx-version',
  'range',
  'user-agent',
]);

/** Context, freshness, and the fields of a request that stand in headers. */
const passedOnPrefixes = ['x-service-', 'x-lance-', 'x-lancedb-'];

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

/** The headers of a request that a backend gets. */
export function headersOut(headers: Fields): Record<string, string> {
  return chosen(headers, passedOn, passedOnPrefixes);
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

/** The header that carries a backend's own credential. */
export function credentialHeader(credential: string | undefined): Readonly<Record<string, string>> {
  if (credential === undefined) return {};
  return credential.startsWith('Bearer ')
    ? { authorization: credential }
    : { 'x-api-key': credential };
}
