import type { Data, Field, RecordBatch, Schema } from 'apache-arrow';
import { batchOfData } from '../../arrow/data.ts';
import { schemaOf } from '../../arrow/nested-type.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { assignmentFormula, bindFormula } from '../request/formula.ts';
import type { Statement } from '../base/statement.ts';
import { assignedData, type Assignment } from './assignment.ts';
import { retypedFields } from './kept-rows.ts';

/** Metadata key of a computed column's SQL. */
const EXPRESSION = 'arrowgate.computed';

/** SQL of a computed column; undefined for a stored one. */
export function expressionOf(field: Field): string | undefined {
  return field.metadata.get(EXPRESSION);
}

/** Marks a column as computed from SQL. */
export function computedFrom(field: Field, expression: string): Field {
  return field.clone({ metadata: new Map([...field.metadata, [EXPRESSION, expression]]) });
}

/** Columns that a computed column may read: the stored ones. */
export function storedFields(schema: Schema): readonly Field[] {
  return schema.fields.filter((field) => expressionOf(field) === undefined);
}

/** Binds the SQL of a computed column to the columns of its table. */
export function computedAssignment(
  field: Field,
  schema: Schema,
  statement?: Statement,
): Assignment | undefined {
  const text = expressionOf(field);
  if (text === undefined) return undefined;
  const source = `computed column ${JSON.stringify(field.name)}`;
  // Binding it alone reports a missing column at its position in the SQL.
  bindFormula(source, text, storedFields(schema), statement);
  const formula = assignmentFormula(source, text, storedFields(schema), field.type, statement);
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

/** Computed columns of written rows, except those that have values already. */
export class ComputedColumns {
  readonly #schema: Schema;
  readonly #computed: readonly (readonly [position: number, assignment: Assignment])[];

  /**
   * @param isGiven Whether the rows already have a column's values.
   * @param isGiven Whether the rows have the value of a column already.
   */
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
   * Fills the computed columns of rows.
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
 * Refuses a schema change that breaks a computed column.
 * @throws CatalogError TableSchemaValidationError.
 */
export function checkComputed(before: Schema, after: Schema): void {
  if (before === after) return;
  const broken = faultsOf(before);
  for (const [name, fault] of faultsOf(after)) {
    if (broken.has(name)) continue;
    throw new CatalogError(
      'TableSchemaValidationError',
      `the column ${JSON.stringify(name)} could no longer be computed: ${fault}`,
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
