import type { Bound, BoundCall, BoundLiteral } from '../../sql/bound.ts';
import { isValid, type ListColumn } from '../../sql/column.ts';

/** Whether the lists must have one of the values, or each of them. */
const calls: Readonly<Record<string, 'one' | 'each'>> = {
  array_has: 'one',
  array_contains: 'one',
  list_has: 'one',
  list_contains: 'one',
  array_has_any: 'one',
  list_has_any: 'one',
  array_has_all: 'each',
  list_has_all: 'each',
};

/**
 * Tests of single items that come to the same as a test of lists: each must be true of
 * some item of a list. Undefined for tests that are not about the items one by one.
 */
export function labelTests(node: Bound): readonly Bound[] | undefined {
  if (node.kind !== 'call' || !Object.hasOwn(calls, node.name)) return undefined;
  const [list, value] = node.arguments;
  if (list === undefined || value?.kind !== 'literal' || value.value === null) return undefined;
  // Of what is computed of a list its items alone do not tell.
  if (list.kind !== 'column') return undefined;
  const items = isList(value.value) ? itemsOf(value, value.value) : [value];
  if (items === undefined) return undefined;
  if (calls[node.name] === 'one') return [node];
  return items.length === 0 ? undefined : items.map((item) => withValue(node, list, item));
}

/** The items of a literal list, each as a list of its own; undefined when one is null: an index has no nulls. */
function itemsOf(literal: BoundLiteral, value: ListColumn): readonly BoundLiteral[] | undefined {
  const [start, end] = [value.starts[0] ?? 0, value.ends[0] ?? 0];
  const items: BoundLiteral[] = [];
  for (let at = start; at < end; at++) {
    if (!isValid(value.child, at)) return undefined;
    const one = { ...value, starts: Uint32Array.of(at), ends: Uint32Array.of(at + 1) };
    items.push({ ...literal, value: one });
  }
  return items;
}

function isList(value: BoundLiteral['value']): value is ListColumn {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'list';
}

function withValue(node: BoundCall, list: Bound, value: BoundLiteral): BoundCall {
  return { ...node, arguments: [list, value] };
}
