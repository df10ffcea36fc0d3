import type { IncomingHttpHeaders } from 'node:http';
import { headerText } from './header-text.ts';

/** The headers that carry a request's context; the later one wins. */
const prefixes = ['x-lance-ctx-', 'x-service-ctx-'] as const;
const SMALL_X = 0x78;
const CAPITAL_X = 0x58;

/**
 * The context that the headers of a request carry: `x-service-ctx-<key>`, and
 * `x-lance-ctx-<key>` where that is absent. Keys are in lower case.
 */
export function contextOf(headers: IncomingHttpHeaders): ReadonlyMap<string, string> {
  if (!hasContext(headers)) return NOTHING;
  return new Map(prefixes.flatMap((prefix) => entriesOf(headers, prefix)));
}

const NOTHING: ReadonlyMap<string, string> = new Map();

/** Most requests carry none, and are asked at each. */
function hasContext(headers: IncomingHttpHeaders): boolean {
  for (const header in headers) {
    const first = header.charCodeAt(0);
    if (first !== SMALL_X && first !== CAPITAL_X) continue;
    const name = header.toLowerCase();
    if (prefixes.some((prefix) => name.startsWith(prefix))) return true;
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
