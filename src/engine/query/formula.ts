import { DataType, type Field, type RecordBatch, type Vector } from 'apache-arrow';
import { typeName } from '../../arrow/types.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { bindAssignment } from '../../sql/assign.ts';
import { bindExpression, bindPredicate as bindTest } from '../../sql/bind.ts';
import { columnsUsed } from '../../sql/columns.ts';
import { SqlError } from '../../sql/errors.ts';
import { countSelected, evaluate, selectRows } from '../../sql/evaluate.ts';
import { parseExpression } from '../../sql/parse.ts';
import { ownStatement, type Formula, type Statement } from './statement.ts';

export type { Formula } from './statement.ts';

/**
 * Binds the text of an expression to the columns it may use. Expressions of one request
 * are given the same statement.
 * @throws CatalogError TableColumnNotFound for a column that is not there; InvalidInput, with the position, for
 * anything else that is wrong with it.
 */
export function bindFormula(
  source: string,
  text: string,
  fields: readonly Field[],
  statement: Statement = ownStatement(),
): Formula {
  const { now, budget } = statement;
  const bound = judged(source, () =>
    bindExpression(parseExpression(text), { fields, now, budget }),
  );
  return { source, text, bound, statement, use: 'value', columns: columnsUsed(bound) };
}

/**
 * Binds an expression whose values go into a column.
 * @throws CatalogError as `bindFormula` does, and InvalidInput for a value that the column's type cannot hold.
 */
export function bindAssigned(
  source: string,
  text: string,
  fields: readonly Field[],
  type: DataType,
  statement: Statement = ownStatement(),
): Formula {
  const { now, budget } = statement;
  const bound = judged(source, () =>
    bindAssignment(parseExpression(text), { fields, now, budget }, type),
  );
  return { source, text, bound, statement, use: type, columns: columnsUsed(bound) };
}

/** Binds an expression that must be true or false of each row. */
export function bindPredicate(
  source: string,
  text: string,
  fields: readonly Field[],
  statement: Statement = ownStatement(),
): Formula {
  const { now, budget } = statement;
  const bound = judged(source, () => bindTest(parseExpression(text), { fields, now, budget }));
  const { type } = bound;
  if (DataType.isBool(type) || DataType.isNull(type)) {
    return { source, text, bound, statement, use: 'predicate', columns: columnsUsed(bound) };
  }
  throw new CatalogError(
    'InvalidInput',
    `${source} must be true or false of each row, not of type ${typeName(type)}`,
  );
}

/** The value of each row. The batch has the columns that the formula reads. */
export function valuesOf(formula: Formula, batch: RecordBatch): Vector {
  return judged(formula.source, () => evaluate(formula.bound, batch));
}

/** The rows of which a predicate is true, ascending. */
export function rowsWhere(predicate: Formula, batch: RecordBatch): Uint32Array {
  if (DataType.isNull(predicate.bound.type)) return new Uint32Array();
  return judged(predicate.source, () => selectRows(predicate.bound, batch));
}

/** Of how many rows a predicate is true. */
export function countWhere(predicate: Formula, batch: RecordBatch): number {
  if (DataType.isNull(predicate.bound.type)) return 0;
  return judged(predicate.source, () => countSelected(predicate.bound, batch));
}

/** The value of each row, from another thread where that takes long. */
export function valuesAway(formula: Formula, batch: RecordBatch): Vector | Promise<Vector> {
  const { threads } = formula.statement;
  return threads?.isLong(formula, batch) === true
    ? threads.valuesOf(formula, batch)
    : valuesOf(formula, batch);
}

/** The rows of which a predicate is true, ascending, from another thread where that takes long. */
export function rowsAway(
  predicate: Formula,
  batch: RecordBatch,
): Uint32Array | Promise<Uint32Array> {
  const { threads } = predicate.statement;
  return threads?.isLong(predicate, batch) === true
    ? threads.rowsWhere(predicate, batch)
    : rowsWhere(predicate, batch);
}

/** Some faults only show in a row: an overflow, a text that is no number. */
function judged<Result>(source: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw error instanceof SqlError ? refusal(source, error) : error;
  }
}

function refusal(source: string, error: SqlError): CatalogError {
  const name = error.kind === 'unknown-column' ? 'TableColumnNotFound' : 'InvalidInput';
  return new CatalogError(name, `${source}: ${error.message}`);
}
