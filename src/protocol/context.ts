import type { IncomingHttpHeaders } from 'node:http';
import { headerText } from './header-text.ts';

/** The headers that carry a request's context; the later one wins. */
const prefixes = ['x-lance-ctx-', 'x-service-ctx-'] as const;

/**
 * The context that the headers of a request carry: `x-service-ctx-<key>`, and
 * `x-lance-ctx-<key>` where that is absent. Keys are in lower case.
 */
export function contextOf(headers: IncomingHttpHeaders): ReadonlyMap<string, string> {
  return new Map(prefixes.flatMap((prefix) => entriesOf(headers, prefix)));
}

function entriesOf(headers: IncomingHttpHeaders, prefix: string): [string, string][] {
  return Object.entries(headers).flatMap(([header, value]): [string, string][] => {
    const name = header.toLowerCase();
    const key = name.slice(prefix.length);
    if (value === undefined || key === '' || !name.startsWith(prefix)) return [];
    return [[key, headerText(typeof value === 'string' ? value : value.join(', '))]];
  });
}
