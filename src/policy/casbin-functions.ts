import { decodePart, parsePattern, patternMatches } from './pattern.ts';
import type { Pattern } from './pattern.ts';
import { partsOf } from './rights.ts';
import { BoundedCache } from './bounded-cache.ts';

const patterns = new BoundedCache<string, Pattern | undefined>(10_000);

/** `within(r.obj, p.obj)`: whether a canonical path is one of those that a pattern names. */
export function within(object: string, pattern: string): boolean {
  const compiled = patterns.get(pattern, () => {
    const result = parsePattern(pattern);
    return 'fault' in result ? undefined : result.pattern;
  });
  if (compiled === undefined || !object.startsWith('/')) return false;
  const path = object === '/' ? [] : object.slice(1).split('/').map(decodePart);
  return patternMatches(compiled, path);
}

/** `covers(p.act, r.act)`: whether a line's action stands for what is asked, or for all of it. */
export function covers(lineAction: string, action: string): boolean {
  const given = partsOf(lineAction);
  const asked = partsOf(action);
  if (given === undefined || asked === undefined) return false;
  return asked.every((right) => given.includes(right));
}
