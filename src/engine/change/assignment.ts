import {
  DataType,
  Precision,
  type Data,
  type Field,
  type RecordBatch,
  type Schema,
} from 'apache-arrow';
import { dataOf } from '../../arrow/data.ts';
import { encodeDictionary } from '../../arrow/growing-dictionary.ts';
import { floatToHalf } from '../../arrow/half-float.ts';
import { nullsOf } from '../../arrow/nullability.ts';
import { sameType, typeName } from '../../arrow/types.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { columnPath } from '../request/column-path.ts';
import { ROW_ID, ROW_OFFSET, withComputed } from '../request/computed-columns.ts';
import type { Statement, Formula } from '../base/statement.ts';
import { assignmentFormula, valuesInThread } from '../request/formula.ts';

/** A column and the SQL expression of its new values. */
export type Update = readonly [column: string, expression: string];

/** A column that gets new values. */
export interface Assignment {
  readonly field: Field;
  /** Computes the values from the old row. */
  readonly formula: Formula;
}

/**
 * Binds updates to the columns of a table.
 * @throws CatalogError TableColumnNotFound; InvalidInput for a column that is named
 * twice or lies inside another, and for an expression whose values do not fit.
 */
export function bindUpdates(
  updates: readonly Update[],
  schema: Schema,
  statement: Statement,
): readonly Assignment[] {
  const fields = withComputed(schema, [ROW_ID, ROW_OFFSET]);
  const seen = new Set<string>();
  return updates.map(([name, expression]) => {
    const { field, formula } = columnPath(name, schema.fields);
    if (formula !== null) {
      throw new CatalogError(
        'InvalidInput',
        `${name} lies inside a column; only whole columns are updated`,
      );
    }
    if (seen.has(field.name)) {
      throw new CatalogError('InvalidInput', `the column "${field.name}" is updated twice`);
    }
    seen.add(field.name);
    return {
      field,
      formula: assignmentFormula(
        `column "${field.name}"`,
        expression,
        fields,
        field.type,
        statement,
      ),
    };
  });
}

/** The new values of a column for the rows of a batch, in the column's own type. */
export async function assignedData(
  { field, formula }: Assignment,
  batch: RecordBatch,
): Promise<Data> {
  const [data] = (await valuesInThread(formula, batch)).data;
  if (data === undefined || DataType.isNull(data.type)) return nullsOf(field.type, batch.numRows);
  return asStored(data, field);
}

/** Expressions yield plain values for a dictionary, and 32-bit floats for 16-bit ones. */
function asStored(data: Data, { name, type }: Field): Data {
  if (sameType(data.type, type)) return data;
  if (DataType.isDictionary(type)) return encodeDictionary(data, type);
  if (!DataType.isFloat(type) || type.precision !== Precision.HALF) {
    throw new Error(`the column ${name} cannot take values of type ${typeName(data.type)}`);
  }
  const floats = (data.values as Float32Array).subarray(0, data.length);
  const values = floatToHalf(floats);
  checkHalves(name, data, values);
  const { length, nullCount, nullBitmap } = data;
  return dataOf(type, { length, nullCount, values, validity: nullBitmap });
}

function checkHalves(name: string, data: Data, halves: Uint16Array): void {
  const row = halves.findIndex(
    (bits, at) =>
      (bits & 0x7fff) === 0x7c00 && data.getValid(at) && Number.isFinite(data.values[at]),
  );
  if (row < 0) return;
  const found = `expected a value that float16 can hold, found ${data.values[row]}`;
  throw new CatalogError('InvalidInput', `column "${name}": ${found}`);
}
