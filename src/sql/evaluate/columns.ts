import { boundChildren, type Bound, type BoundExpression } from './bound.ts';

/**
 * The fields that an expression reads of each top-level column; null where it reads
 * the column as a whole.
 */
export function fieldsUsed(
  bound: BoundExpression,
): ReadonlyMap<string, ReadonlySet<string> | null> {
  const used = new Map<string, Set<string> | null>();
  const seen = new Set<Bound>();
  const open: Bound[] = [bound.root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    // Shared operands would be visited twice at each level.
    if (seen.has(node)) continue;
    seen.add(node);
    if (node.kind === 'column') {
      used.set(node.name, null);
    } else if (node.kind === 'field' && node.operand.kind === 'column') {
      const { name, type } = node.operand;
      const fields = used.get(name) === null ? null : (used.get(name) ?? new Set());
      used.set(name, fields);
      fields?.add(type.children[node.index]!.name);
    } else {
      open.push(...boundChildren(node));
    }
  }
  return used;
}

/** The names of the top-level columns that an expression reads, in the order they are first named. */
export function columnsUsed(bound: BoundExpression): readonly string[] {
  const names = new Set<string>();
  const seen = new Set<Bound>();
  const open: Bound[] = [bound.root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (seen.has(node)) continue;
    seen.add(node);
    if (node.kind === 'column') names.add(node.name);
    for (const child of boundChildren(node).toReversed()) open.push(child);
  }
  return [...names];
}
