import type { Data, Field, RecordBatch, Schema } from 'apache-arrow';
import { batchOfData } from '../../arrow/data.ts';
import { schemaOf } from '../../arrow/nested-type.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { bindAssigned, bindFormula } from '../request/formula.ts';
import type { Statement } from '../base/statement.ts';
import { assignedData, type Assignment } from './assignment.ts';
import { retypedFields } from './kept-rows.ts';

/** The entry of a field's metadata that holds the SQL from which the column is computed. */
const EXPRESSION = 'arrowgate.computed';

/** The SQL from which a column is computed; undefined for a column that holds what was sent. */
export function expressionOf(field: Field): string | undefined {
  return field.metadata.get(EXPRESSION);
}

/** A column with the SQL from which it is computed. */
export function computedFrom(field: Field, expression: string): Field {
  return field.clone({ metadata: new Map([...field.metadata, [EXPRESSION, expression]]) });
}

/** The columns that a computed one may read: those that hold what was sent. */
export function storedFields(schema: Schema): readonly Field[] {
  return schema.fields.filter((field) => expressionOf(field) === undefined);
}

/** What a column is computed from, bound to the columns of its table. */
export function computedAssignment(
  field: Field,
  schema: Schema,
  statement?: Statement,
): Assignment | undefined {
  const text = expressionOf(field);
  if (text === undefined) return undefined;
  const source = `computed column ${JSON.stringify(field.name)}`;
  // It is bound by itself too: a column that is missing is then found at its place in the SQL.
  bindFormula(source, text, storedFields(schema), statement);
  const formula = bindAssigned(source, text, storedFields(schema), field.type, statement);
  return { field, formula };
}

/** The values of a computed column. @throws CatalogError for a value that cannot be computed, or null where none may be. */
export async function computedData(assignment: Assignment, rows: RecordBatch): Promise<Data> {
  const data = await assignedData(assignment, rows);
  const { name, nullable } = assignment.field;
  if (nullable || data.nullCount === 0) return data;
  throw new CatalogError(
    'TableSchemaValidationError',
    `the computed column ${JSON.stringify(name)} may not be null, and its expression is for some row`,
  );
}

/** The computed columns of rows that are written: those that nobody gives values of their own. */
export class ComputedColumns {
  readonly #schema: Schema;
  readonly #computed: readonly (readonly [position: number, assignment: Assignment])[];

  /** @param isGiven Whether the rows have the value of a column already. */
  constructor(schema: Schema, isGiven: (assignment: Assignment) => boolean, statement?: Statement) {
    this.#schema = schema;
    this.#computed = schema.fields.flatMap((field, position) => {
      const assignment = computedAssignment(field, schema, statement);
      return assignment === undefined || isGiven(assignment)
        ? []
        : [[position, assignment] as const];
    });
  }

  /**
   * The columns of a table's rows, with what is computed in its place.
   * @throws CatalogError for a value that cannot be computed.
   */
  async filled(columns: readonly Data[], rows: number): Promise<Data[]> {
    const next = [...columns];
    if (this.#computed.length === 0) return next;
    const batch = batchOfData(schemaOf(retypedFields(this.#schema, columns)), next, rows);
    for (const [position, assignment] of this.#computed) {
      next[position] = await computedData(assignment, batch);
    }
    return next;
  }
}

/**
 * Refuses a change of columns after which a computed one could not be computed any more.
 * @throws CatalogError TableSchemaValidationError.
 */
export function checkComputed(before: Schema, after: Schema): void {
  if (before === after) return;
  const broken = faultsOf(before);
  for (const [name, fault] of faultsOf(after)) {
    if (broken.has(name)) continue;
    throw new CatalogError(
      'TableSchemaValidationError',
      `the column ${JSON.stringify(name)} could not be computed any more: ${fault}`,
    );
  }
}

function faultsOf(schema: Schema): ReadonlyMap<string, string> {
  const faults = new Map<string, string>();
  for (const field of schema.fields) {
    try {
      computedAssignment(field, schema);
    } catch (error) {
      if (!(error instanceof CatalogError)) throw error;
      faults.set(field.name, error.message);
    }
  }
  return faults;
}
