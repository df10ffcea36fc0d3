import type { Bound, BoundExpression } from './bound.ts';
import { boundChildren } from './bound.ts';

/** The names of the top-level columns that an expression reads, in the order they are first named. */
export function columnsUsed(bound: BoundExpression): readonly string[] {
  const names = new Set<string>();
  const seen = new Set<Bound>();
  const open: Bound[] = [bound.root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (seen.has(node)) {
      continue;
    }
    seen.add(node);
    if (node.kind === 'column') {
      names.add(node.name);
    }
    for (const child of boundChildren(node).toReversed()) {
      open.push(child);
    }
  }
  return [...names];
}
