import type { Circumstances } from './circumstances.ts';
import type { TermResult, Term } from './kind.ts';

/** The `cond` column of a line: every term of it has to be true. */
export interface Condition {
  /** As it is written. */
  readonly text: string;
  readonly terms: readonly Term<Circumstances>[];
}

/**
 * Results of a term with which a line applies. A missing value fails an allow and satisfies a deny. An open
 * value does the opposite, because the decision is repeated once it is known.
 */
const satisfied: Readonly<Record<Effect, ReadonlySet<TermResult>>> = {
  allow: new Set<TermResult>([true, 'open']),
  deny: new Set<TermResult>([true, 'missing']),
};

/** Cached results of conditions: a listing evaluates each once for its circumstances. */
const outcomes = new WeakMap<Circumstances, Map<Condition, Partial<Record<Effect, boolean>>>>();

/** Whether a line with this condition and effect applies under the circumstances. */
export function conditionHolds(
  condition: Condition,
  effect: Effect,
  circumstances: Circumstances,
): boolean {
  let answers = outcomes.get(circumstances);
  if (answers === undefined) outcomes.set(circumstances, (answers = new Map()));
  let answer = answers.get(condition);
  if (answer === undefined) answers.set(condition, (answer = {}));
  return (answer[effect] ??= condition.terms.every((term) =>
    satisfied[effect].has(term.outcome(circumstances)),
  ));
}

/** The terms that keep a line from applying, each with the value that its variable has. */
export function failedTerms(
  { terms }: Condition,
  effect: Effect,
  circumstances: Circumstances,
): readonly string[] {
  return terms
    .filter((term) => !satisfied[effect].has(term.outcome(circumstances)))
    .map((term) => {
      const value = term.shown(circumstances);
      return `${term.text} (${value === undefined ? 'missing' : `it is ${value}`})`;
    });
}

/** Effect of a line on the rights that it names. */
export type Effect = 'allow' | 'deny';
