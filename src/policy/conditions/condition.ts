import type { Circumstances } from './circumstances.ts';
import type { TermResult, Term } from './kind.ts';

/** The `cond` column of a line: every term of it has to be true. */
export interface Condition {
  /** As it is written. */
  readonly text: string;
  readonly terms: readonly Term<Circumstances>[];
}

/**
 * What a term has to come to for a line to apply. What is missing fails an allow and satisfies a deny;
 * what is open is taken the other way round, since it is asked again once it is known.
 */
const satisfied: Readonly<Record<Effect, ReadonlySet<TermResult>>> = {
  allow: new Set<TermResult>([true, 'open']),
  deny: new Set<TermResult>([true, 'missing']),
};

/** What came of the conditions under circumstances that were asked for, so that a listing asks once. */
const known = new WeakMap<Circumstances, Map<Condition, Partial<Record<Effect, boolean>>>>();

/** Whether a line with this condition and effect applies under the circumstances. */
export function conditionHolds(
  condition: Condition,
  effect: Effect,
  circumstances: Circumstances,
): boolean {
  let answers = known.get(circumstances);
  if (answers === undefined) known.set(circumstances, (answers = new Map()));
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

/** What a line does to the rights that it names. */
export type Effect = 'allow' | 'deny';
