import { Field, type Vector } from 'apache-arrow';
import { CatalogError } from '../../../protocol/errors.ts';
import type { Handler } from '../call/handler.ts';
import { statementOf, type Statement, type Formula } from '../../base/statement.ts';
import { bindFormula, valuesInThread } from '../../request/formula.ts';
import { storedFields, computedFrom } from '../../change/computed-values.ts';
import type { Contents } from '../../format/change.ts';
import { tableColumns, withColumns, type TableColumn } from '../../format/table-columns.ts';
import { newColumnsField, type NewColumn } from './new-columns.ts';
import {
  commitSchemaChange,
  versionAnswer,
  type ChangeBase,
  type SchemaParts,
} from './schema-change.ts';

type ExpressionColumn = Extract<NewColumn, { readonly text: string }>;

/**
 * AlterTableAddColumns. The values of expressions go into data files of their
 * own; columns of nulls lie in none, nor do computed ones before a backfill. Expressions
 * see the columns that were there before.
 */
export function addColumns(parts: SchemaParts): Handler {
  return async (call) => {
    const entries = newColumnsField(call.body);
    const statement = statementOf(call);
    const change = (on: ChangeBase) => extended(on, entries, statement);
    return commitSchemaChange(parts, call, change, (made) =>
      versionAnswer(call, 'add_columns', made),
    );
  };
}

async function extended(
  { base, snapshot, writer }: ChangeBase,
  entries: readonly NewColumn[],
  statement: Statement,
): Promise<Contents> {
  const formulas = new Map<number, Formula>();
  const added = entries.map((entry, at): TableColumn => {
    refuseTaken(base, entry.name);
    const id = base.nextFieldId + at;
    if (entry.kind === 'nulls') return { field: new Field(entry.name, entry.type, true), id };
    if (entry.kind === 'computed') return { field: computedField(base, entry, statement), id };
    const source = `new_columns.${entry.name}`;
    const formula = bindFormula(source, entry.text, base.schema.fields, statement);
    formulas.set(id, formula);
    return { field: new Field(entry.name, formula.bound.type, true), id };
  });
  const next = withColumns(base, [...tableColumns(base), ...added]);
  if (formulas.size === 0) return next;
  const computed = added.filter(({ id }) => formulas.has(id));
  const fragments = await writer.extended(snapshot, {
    fields: computed.map(({ field }) => field),
    ids: computed.map(({ id }) => id),
    reads: [...new Set([...formulas.values()].flatMap(({ columns }) => columns))],
    values: async (rows) => {
      const values: Vector[] = [];
      for (const formula of formulas.values()) values.push(await valuesInThread(formula, rows));
      return values;
    },
  });
  return { ...next, fragments };
}

/** It reads no computed column, so the order of computation does not matter. */
function computedField(
  { schema }: Contents,
  { name, text }: ExpressionColumn,
  statement: Statement,
): Field {
  const { bound } = bindFormula(`new_columns.${name}`, text, storedFields(schema), statement);
  return computedFrom(new Field(name, bound.type, true), text);
}

function refuseTaken({ schema }: Contents, name: string): void {
  if (schema.fields.every((field) => field.name !== name)) return;
  throw new CatalogError(
    'TableSchemaValidationError',
    `the table already has a column ${JSON.stringify(name)}`,
  );
}
