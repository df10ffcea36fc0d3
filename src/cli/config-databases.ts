import { parsePattern } from '../policy/pattern.ts';
import { SYSTEM, type Databases } from '../protocol/database.ts';
import type { ObjectPath } from '../protocol/identifier.ts';
import { good, type Kind, type Reading } from './config-kinds.ts';

const NAME = /^[\x21-\x7e]{1,256}$/;

/** The databases by their names: what `x-lancedb-database` may be, and the namespace that is its root. */
export const databases: Kind<Databases> = { name: 'map', structured: true, read };

function read(value: unknown): Reading<Databases> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { kind: 'wrong', must: 'names with a namespace each, such as { prod: /prod }' };
  }
  const found = new Map<string, ObjectPath>();
  for (const [name, text] of Object.entries(value)) {
    const root = NAME.test(name) ? rootNamed(text) : undefined;
    if (root === undefined) return wrong(name, text);
    found.set(name, root);
  }
  return good(found);
}

function wrong(name: string, found: unknown): Reading<never> {
  const must = NAME.test(name)
    ? `the canonical path of a namespace outside of /${SYSTEM}, such as /prod`
    : 'under a name of 1 to 256 visible ASCII characters';
  return { kind: 'wrong', must, at: [name], found };
}

/** The path that a text spells canonically; undefined for any other text. */
function rootNamed(text: unknown): ObjectPath | undefined {
  if (text === '/') return [];
  const result = typeof text === 'string' ? parsePattern(text) : undefined;
  if (result === undefined || 'fault' in result || result.pattern.below) return undefined;
  const path = result.pattern.segments.filter((segment) => segment !== null);
  const isFixed = path.length === result.pattern.segments.length;
  return isFixed && path[0] !== SYSTEM ? path : undefined;
}
