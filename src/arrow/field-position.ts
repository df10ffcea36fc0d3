import type { Field } from 'apache-arrow';

const cache = new WeakMap<readonly Field[], ReadonlyMap<string, number>>();

/**
 * The position of the first field of a name. The list must not change
 * afterwards: its names are looked through once, for there may be 65,536.
 */
export function fieldPosition(fields: readonly Field[], name: string): number | undefined {
  let positions = cache.get(fields);
  if (positions === undefined) {
    positions = new Map(fields.map((field, at) => [field.name, at] as const).toReversed());
    cache.set(fields, positions);
  }
  return positions.get(name);
}
