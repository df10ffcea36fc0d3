import type { CommitFacts } from '../../rules/commit-facts.ts';
import type { CommitRule } from '../../rules/commit-rule.ts';
import { checkFault } from './check-rows.ts';
import type { JudgedRows } from './judged-rows.ts';
import { JudgingLimit } from './lance-judged-rows.ts';
import { uniqueFault } from './unique-rows.ts';

/**
 * Checks the rows of a version by the `check` and `unique` requirements of a rule. Returns the
 * fault; undefined if there is none, or if the rows cannot be read. A compaction keeps its rows.
 * @param open Opens the rows of the version.
 */
export async function rowFault(
  { require: { check, unique } }: CommitRule,
  { change, action }: CommitFacts,
  open: (() => JudgedRows) | undefined,
): Promise<string | undefined> {
  if (change === null || open === undefined || action === 'compact') return undefined;
  if (check === undefined && unique === undefined) return undefined;
  const rows = open();
  try {
    const fault =
      check === undefined
        ? undefined
        : await within(`check ${JSON.stringify(check)}`, () => checkFault(check, change, rows));
    if (fault !== undefined || unique === undefined) return fault;
    return await within(`unique ${JSON.stringify(unique)}`, () =>
      uniqueFault(unique, change, rows),
    );
  } finally {
    await rows.close();
  }
}

/** What cannot be judged within the limits is a fault. */
async function within(
  demand: string,
  judge: () => Promise<string | undefined>,
): Promise<string | undefined> {
  try {
    return await judge();
  } catch (error) {
    if (!(error instanceof JudgingLimit)) throw error;
    return `${demand} cannot be judged: ${error.message}`;
  }
}
