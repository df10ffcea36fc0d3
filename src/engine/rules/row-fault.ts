import type { CommitFacts } from '../../rules/commit-facts.ts';
import type { CommitRule } from '../../rules/commit-rule.ts';
import type { Statement } from '../base/statement.ts';
import type { Snapshot } from '../format/snapshot.ts';
import { FragmentReader } from '../query/scan/fragment-reader.ts';
import { checkFault } from './check-rows.ts';
import { JudgedRows, type KnownFaults } from './judged-rows.ts';
import { uniqueFault } from './unique-rows.ts';

/**
 * Checks the rows of a version by the `check` and `unique` requirements of a rule. Returns the
 * fault; undefined if there is none, or if the rows cannot be read.
 * @param faults Cached faults of fragments.
 */
export async function rowFault(
  { require: { check, unique } }: CommitRule,
  { change }: CommitFacts,
  snapshot: Snapshot | undefined,
  faults: KnownFaults,
  statement?: Statement,
): Promise<string | undefined> {
  if (change === null || snapshot === undefined) return undefined;
  if (check === undefined && unique === undefined) return undefined;
  const reader = new FragmentReader(snapshot.storage);
  try {
    const rows = new JudgedRows(snapshot, reader, faults, statement);
    const fault = check === undefined ? undefined : await checkFault(check, change, rows);
    if (fault !== undefined || unique === undefined) return fault;
    return await uniqueFault(unique, change, rows);
  } finally {
    await reader.close();
  }
}
