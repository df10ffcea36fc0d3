import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rowsIn } from './compare.ts';
import { differences, shownOn } from './differences.ts';
import { Oracle } from './oracle.ts';
import type { Outcome, Side, Statement } from './statement.ts';

let oracle: Oracle;

beforeAll(async () => {
  oracle = await Oracle.start();
});

afterAll(async () => oracle.stop());

describe('a deliberate difference from LanceDB', () => {
  it.each(differences)('is $what', async ({ statements, lancedb, here }) => {
    const { judge, subject, close } = oracle.pair();
    try {
      const answers = [await answerOf(judge, statements), await answerOf(subject, statements)];
      expect(answers).toEqual([lancedb, here]);
    } finally {
      await close();
    }
  });
});

/** The answer to the last statement. */
async function answerOf(side: Side, statements: readonly Statement[]): Promise<string> {
  await side.create(shownOn);
  let last: Outcome | undefined;
  for (const statement of statements) last = await side.run(statement);
  if (last?.kind === 'rows' || last?.kind === 'changed')
    return rowsIn(last.columns).toSorted().join(' / ');
  return last?.kind ?? '';
}
