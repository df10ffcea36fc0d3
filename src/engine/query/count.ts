import type { BatchSource } from '../table/fragment-reader.ts';
import type { Snapshot } from '../table/snapshot.ts';
import { needOf, ROW_ID, ROW_OFFSET, withComputed } from './computed-columns.ts';
import { bindPredicate, rowsWhere } from './formula.ts';
import { Pace } from './pace.ts';
import { allFiles } from './plan.ts';
import { AHEAD, readAhead } from './read-ahead.ts';
import { Scanner } from './scan.ts';

/**
 * How many rows a table has, or of how many a predicate is true. Without a
 * predicate nothing is read, with one only its columns.
 * @throws CatalogError TableColumnNotFound or InvalidInput for what is wrong with the predicate.
 */
export async function countRows(
  source: BatchSource,
  snapshot: Snapshot,
  predicate: string | null,
): Promise<bigint> {
  if (predicate === null) return snapshot.rows;
  const { schema } = snapshot;
  const formula = bindPredicate('predicate', predicate, withComputed(schema, [ROW_ID, ROW_OFFSET]));
  const scanner = new Scanner(source, snapshot);
  const pace = new Pace();
  let count = 0n;
  const scanned = scanner.scan(allFiles(snapshot), needOf(schema, formula.columns), AHEAD);
  for await (const { batch, release } of readAhead(scanned)) {
    count += BigInt(rowsWhere(formula, batch).length);
    release?.();
    await pace.turn();
  }
  return count;
}
