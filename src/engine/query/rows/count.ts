import type { BatchSource } from '../scan/batch-source.ts';
import type { VisibleSnapshot } from '../scan/visible-snapshot.ts';
import { needOf, NO_COLUMNS, rowFieldsOf } from '../../request/computed-columns.ts';
import { predicateFormula, countWhere } from '../../request/formula.ts';
import { Pace } from '../../base/pace.ts';
import { allFiles } from '../plan/plan.ts';
import { prunedFiles, rowsOfFile } from '../scan/pruning.ts';
import { AHEAD, readAhead } from '../scan/meters.ts';
import type { Statement, Formula } from '../../base/statement.ts';
import { Scanner, type ScanFile } from '../scan/scan.ts';

/**
 * Binds a predicate to the rows of a table.
 * @throws CatalogError TableColumnNotFound or InvalidInput for what is wrong with it.
 */
export function predicateOf(
  { schema }: VisibleSnapshot,
  predicate: string,
  statement?: Statement,
): Formula {
  return predicateFormula('predicate', predicate, rowFieldsOf(schema), statement);
}

/**
 * Counts rows of a table, or those that pass a predicate. Without a predicate nothing is read; with
 * one only its columns, and only where statistics do not decide.
 * @throws CatalogError TableColumnNotFound or InvalidInput for what is wrong with the predicate.
 */
export async function countRows(
  source: BatchSource,
  snapshot: VisibleSnapshot,
  predicate: string | null,
  statement?: Statement,
): Promise<bigint> {
  if (predicate === null) return snapshot.rows;
  return countRowsWhere(source, snapshot, predicateOf(snapshot, predicate, statement));
}

/** Counts rows that pass a bound predicate. */
export async function countRowsWhere(
  source: BatchSource,
  snapshot: VisibleSnapshot,
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

/** Passing rows of a file, if statistics tell. */
function countWithoutReading(file: ScanFile): number | null {
  return file.certain === true ? rowsOfFile(file) : null;
}
