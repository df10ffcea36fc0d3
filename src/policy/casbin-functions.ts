import type { Circumstances } from './circumstances.ts';
import { conditionHolds } from './condition.ts';
import type { Condition } from './condition.ts';
import { parseCondition } from './condition-parser.ts';
import { decodePart, parsePattern, patternMatches } from './pattern.ts';
import type { Pattern } from './pattern.ts';
import type { Effect } from './effect.ts';
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

/** A condition with the effect of its line before it, as `holds` is given it. */
export function taggedCondition(effect: string, text: string): string {
  return `${effect} ${text}`;
}

const conditions = new BoundedCache<string, Condition | 'none' | 'bad'>(10_000);

/** `holds(p.cond)`: whether the condition of a line, after its effect, holds in the circumstances of the moment. */
export function holdsUnder(circumstances: () => Circumstances): (tagged: string) => boolean {
  return (tagged) => {
    const at = tagged.indexOf(' ');
    const effect: Effect = tagged.slice(0, at) === 'deny' ? 'deny' : 'allow';
    const condition = conditions.get(tagged.slice(at + 1), () => conditionOf(tagged.slice(at + 1)));
    if (typeof condition === 'string') return condition === 'none';
    return conditionHolds(condition, effect, circumstances());
  };
}

function conditionOf(text: string): Condition | 'none' | 'bad' {
  const result = parseCondition(text);
  if ('fault' in result) return 'bad';
  return result.condition ?? 'none';
}
