import type { IncomingHttpHeaders } from 'node:http';
import { CatalogError } from './errors.ts';

/** Text that Latin-1 and UTF-8 encode alike. */
const ASCII = /^[\x20-\x7e]*$/;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The text of a header's value. Node reads its bytes as Latin-1; clients that
 * send more than ASCII send UTF-8. Bytes that are not UTF-8 stay Latin-1.
 */
export function headerText(value: string): string {
  if (ASCII.test(value)) return value;
  try {
    return utf8.decode(Buffer.from(value, 'latin1'));
  } catch {
    return value;
  }
}

/** Prefixes of the headers that carry a request's context. */
export const CONTEXT_PREFIXES = ['x-service-ctx-', 'x-lance-ctx-'] as const;
const SMALL_X = 0x78;
const CAPITAL_X = 0x58;

/**
 * The context that the headers of a request carry: `x-service-ctx-<key>` and
 * `x-lance-ctx-<key>`. Keys are in lower case.
 * @throws CatalogError InvalidInput if both headers of a key are present with different values.
 */
export function contextOf(headers: IncomingHttpHeaders): ReadonlyMap<string, string> {
  if (!hasContext(headers)) return NOTHING;
  const context = new Map<string, string>();
  for (const [key, value] of CONTEXT_PREFIXES.flatMap((prefix) => entriesOf(headers, prefix))) {
    const before = context.get(key);
    if (before !== undefined && before !== value) throw contradiction(key);
    context.set(key, value);
  }
  return context;
}

function contradiction(key: string): CatalogError {
  const [first, second] = CONTEXT_PREFIXES.map((prefix) => prefix + key);
  return new CatalogError(
    'InvalidInput',
    `the headers ${first} and ${second} have different values; send one of them`,
  );
}

const NOTHING: ReadonlyMap<string, string> = new Map();

/** Shared by requests without a context, which are most. */
function hasContext(headers: IncomingHttpHeaders): boolean {
  for (const header in headers) {
    const first = header.charCodeAt(0);
    if (first !== SMALL_X && first !== CAPITAL_X) continue;
    const name = header.toLowerCase();
    if (CONTEXT_PREFIXES.some((prefix) => name.startsWith(prefix))) return true;
  }
  return false;
}

function entriesOf(headers: IncomingHttpHeaders, prefix: string): [string, string][] {
  return Object.entries(headers).flatMap(([header, value]): [string, string][] => {
    const name = header.toLowerCase();
    const key = name.slice(prefix.length);
    if (value === undefined || key === '' || !name.startsWith(prefix)) return [];
    return [[key, headerText(typeof value === 'string' ? value : value.join(', '))]];
  });
}
