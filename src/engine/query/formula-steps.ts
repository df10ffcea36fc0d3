import { DataType } from 'apache-arrow';
import type { Bound } from '../../sql/bound.ts';
import { boundChildren } from '../../sql/bound.ts';
import type { Formula } from './formula.ts';

/** A match of a pattern, by what else a step is: measured with texts of some 200 characters. */
const LIKE_STEPS = 50;
const REGEXP_STEPS = 200;
/** A function that looks at all of its texts. */
const TEXT_STEPS = 30;
/** Of a text of as many characters as a word has, for each character of the other. */
const DISTANCE_STEPS = 500;
const CALL_STEPS = 5;

/**
 * About how many steps a formula takes for each row, of a few nanoseconds each. What stands in
 * several places is evaluated once.
 */
export function stepsOf({ bound }: Formula): number {
  const nodes = new Set<Bound>([bound.root]);
  let steps = 0;
  // Grows while it is gone through.
  for (const node of nodes) {
    steps += ownSteps(node);
    for (const child of boundChildren(node)) nodes.add(child);
  }
  return steps;
}

function ownSteps(node: Bound): number {
  if (node.kind === 'like') return LIKE_STEPS;
  if (node.kind !== 'call') return 1;
  const { name } = node;
  if (name === 'levenshtein') return DISTANCE_STEPS * longestConstant(node.arguments);
  if (name.startsWith('regexp')) return REGEXP_STEPS;
  const takesTexts = node.arguments.some(
    ({ type }) => DataType.isUtf8(type) || DataType.isLargeUtf8(type),
  );
  return takesTexts ? TEXT_STEPS : CALL_STEPS;
}

function longestConstant(nodes: readonly Bound[]): number {
  const lengths = nodes.map((node) =>
    node.kind === 'literal' && typeof node.value === 'string' ? node.value.length : 1,
  );
  return Math.max(8, ...lengths);
}
