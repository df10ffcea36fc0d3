import { DataType, type Field, type RecordBatch } from 'apache-arrow';
import { columnsUsed } from '../../sql/evaluate/columns.ts';
import { bindPredicate } from '../../sql/bind.ts';
import { SqlError } from '../../sql/values/sql-error.ts';
import { parseExpression } from '../../sql/parse.ts';
import type { VersionChange } from '../../rules/commit-facts.ts';
import { touchedFragments } from '../../rules/table-change.ts';
import { rowsInThread } from '../request/formula.ts';
import type { Statement, Formula } from '../base/statement.ts';
import { OverBudget } from '../../protocol/budget.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { JudgedRows } from './judged-rows.ts';
import { shownRow } from './shown-row.ts';

/**
 * Checks that a predicate is true of all added or changed rows of a version. Returns the fault;
 * undefined if there is none. Null is not true.
 */
export async function checkFault(
  text: string,
  change: VersionChange,
  rows: JudgedRows,
): Promise<string | undefined> {
  const bound = boundCheck(text, rows.fields, rows.statement);
  if (typeof bound === 'string') return bound;
  const { columns } = bound;
  const touched = touchedFragments(change, columns);
  return rows.firstFault(`check ${text}`, touched, columns, (batch) => batchFault(bound, batch));
}

function boundCheck(
  text: string,
  fields: readonly Field[],
  statement: Statement,
): Formula | string {
  try {
    const { now, budget } = statement;
    const bound = bindPredicate(parseExpression(text), { fields, now, budget });
    const columns = columnsUsed(bound);
    const formula = { source: 'check', text, bound, statement, use: 'predicate', columns } as const;
    if (DataType.isBool(bound.type)) return formula;
    return `the check ${JSON.stringify(text)} is neither true nor false of this table`;
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    return `the check ${JSON.stringify(text)} does not fit the table: ${error.message}`;
  }
}

async function batchFault(formula: Formula, batch: RecordBatch): Promise<string | undefined> {
  const { text } = formula;
  try {
    const passing = await rowsInThread(formula, batch);
    if (passing.length === batch.numRows) return undefined;
    // Rows are ascending: the first missing one fails.
    const gap = passing.findIndex((row, at) => row !== at);
    const row = gap < 0 ? passing.length : gap;
    return `the check ${JSON.stringify(text)} is not true of a row with ${shownRow(batch, row)}`;
  } catch (error) {
    if (!(error instanceof CatalogError) || error instanceof OverBudget) throw error;
    return `the check ${JSON.stringify(text)} fails: ${error.message.replace(/^check: /, '')}`;
  }
}
