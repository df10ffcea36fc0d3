import { differenceOf } from './compare.ts';
import type { Outcome, Program, Side, Statement } from './statement.ts';

/** Both sides on a table of their own, and how to be rid of it. */
export interface Pair {
  readonly judge: Side;
  readonly subject: Side;
  readonly close: () => Promise<void>;
  /** Whether the judge looks at what the subject did. */
  readonly isSubjectFirst?: boolean;
}

/** What came of a program. */
export interface Run {
  /** Statements that both sides answered. */
  readonly asked: number;
  /** Those of them that both refused. */
  readonly refused: number;
  readonly failure?: Failure;
}

/** The first statement to which the sides gave different answers. */
export interface Failure {
  readonly statement: Statement;
  readonly difference: string;
}

/** Runs a program on a fresh pair, up to the first difference. */
export async function run({ create, statements }: Program, pair: Pair): Promise<Run> {
  let asked = 0;
  let refused = 0;
  try {
    const sides = [pair.judge, pair.subject] as const;
    const ordered = pair.isSubjectFirst === true ? sides.toReversed() : sides;
    for (const side of ordered) await side.create(create);
    for (const statement of statements) {
      const outcomes = new Map<Side, Outcome>();
      for (const side of ordered) outcomes.set(side, await side.run(statement));
      const [theirs, ours] = [outcomes.get(pair.judge)!, outcomes.get(pair.subject)!];
      asked++;
      if (theirs.kind === 'refused') refused++;
      const difference = differenceOf(statement, theirs, ours);
      if (difference !== undefined) return { asked, refused, failure: { statement, difference } };
    }
    return { asked, refused };
  } finally {
    await pair.close();
  }
}
