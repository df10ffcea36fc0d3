import type { Bound, BoundExpression } from './bound.ts';
import type { Scalar } from './scalar.ts';
import { rangeValue, type RangeValue } from './value-range.ts';

/**
 * The values of which a column must have one where a predicate is true, as `a = 1` and
 * `a IN (1, 2)` ask for; undefined for any other predicate. They are in the column's own step.
 */
export function valuesAsked({ root }: BoundExpression): readonly RangeValue[] | undefined {
  if (root.kind === 'in' && !root.negated && root.operand.kind === 'column') {
    return rangeValues(root.members.values);
  }
  return root.kind === 'comparison' && isPlain(root)
    ? rangeValues([literalOf(root.right)])
    : undefined;
}

function isPlain({ operator, left, right, factors }: Extract<Bound, { kind: 'comparison' }>) {
  const same = factors[0] === 1n && factors[1] === 1n;
  return operator === '=' && same && left.kind === 'column' && right.kind === 'literal';
}

function literalOf(node: Bound): Scalar {
  return node.kind === 'literal' ? node.value : null;
}

/** Undefined when one of them has no place in an order; nothing is equal to null. */
function rangeValues(values: readonly Scalar[]): readonly RangeValue[] | undefined {
  const found = values.filter((value) => value !== null).map(rangeValue);
  return found.every((value) => value !== undefined) ? found : undefined;
}
