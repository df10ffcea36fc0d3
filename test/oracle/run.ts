import { differenceOf } from './compare.ts';
import type { Program, Side, Statement } from './statement.ts';

/** Both sides on a table of their own, and how to be rid of it. */
export interface Pair {
  readonly judge: Side;
  readonly subject: Side;
  readonly close: () => Promise<void>;
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
    await pair.judge.create(create);
    await pair.subject.create(create);
    for (const statement of statements) {
      const theirs = await pair.judge.run(statement);
      const ours = await pair.subject.run(statement);
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
