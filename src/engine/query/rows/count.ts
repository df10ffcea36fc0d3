import type { BatchSource } from '../scan/fragment-reader.ts';
import type { Snapshot } from '../../format/snapshot.ts';
import { needOf, NO_COLUMNS, rowFieldsOf } from '../../request/computed-columns.ts';
import { bindPredicate, countWhere, type Formula } from '../../request/formula.ts';
import { Pace } from '../../base/pace.ts';
import { allFiles } from '../plan/plan.ts';
import { prunedFiles, rowsOfFile } from '../scan/pruning.ts';
import { AHEAD, readAhead } from '../scan/meters.ts';
import type { Statement } from '../../base/statement.ts';
import { Scanner, type ScanFile } from '../scan/scan.ts';

/**
 * A predicate over the rows of a table.
 * @throws CatalogError TableColumnNotFound or InvalidInput for what is wrong with it.
 */
export function predicateOf(
  { schema }: Snapshot,
  predicate: string,
  statement?: Statement,
): Formula {
  return bindPredicate('predicate', predicate, rowFieldsOf(schema), statement);
}

/**
 * How many rows a table has, or of how many a predicate is true. Without a
 * predicate nothing is read, with one only its columns, and those only where
 * what is known of the files does not tell.
 * @throws CatalogError TableColumnNotFound or InvalidInput for what is wrong with the predicate.
 */
export async function countRows(
  source: BatchSource,
  snapshot: Snapshot,
  predicate: string | null,
  statement?: Statement,
): Promise<bigint> {
  if (predicate === null) return snapshot.rows;
  return countRowsWhere(source, snapshot, predicateOf(snapshot, predicate, statement));
}

/** Of how many rows of a table a predicate is true that is bound to its columns. */
export async function countRowsWhere(
  source: BatchSource,
  snapshot: Snapshot,
  formula: Formula,
): Promise<bigint> {
  const { schema } = snapshot;
  const scanner = new Scanner(source, snapshot);
  const pace = new Pace();
  const files = prunedFiles(snapshot, allFiles(snapshot), formula);
  let count = files.reduce((sum, file) => sum + BigInt(countWithoutReading(file) ?? 0), 0n);
  const open = files.filter((file) => countWithoutReading(file) === null);
  const scanned = scanner.scan(open, needOf(schema, formula.columns), AHEAD, NO_COLUMNS);
  for await (const { batch, certain, release } of readAhead(scanned)) {
    count += BigInt(certain === true ? batch.numRows : countWhere(formula, batch));
    release?.();
    await pace.turn();
  }
  return count;
}

/** How many rows of a file count, if that is known. */
function countWithoutReading(file: ScanFile): number | null {
  return file.certain === true ? rowsOfFile(file) : null;
}
