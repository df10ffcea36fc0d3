import { DataType, Data as DataClass, Vector, type Data, type RecordBatch } from 'apache-arrow';
import type { Bound, BoundExpression } from './evaluate/bound.ts';
import { truth, type Valid } from './values/column.ts';
import { countToLiteral } from './compare/compare.ts';
import { SqlError } from './values/sql-error.ts';
import { evaluateNode } from './evaluate/evaluate-node.ts';
import { batchFrame } from './evaluate/frame.ts';
import { countTrue, rowsThatAre, statesOf } from './compare/logic.ts';
import { metered } from './values/meter.ts';
import { readValid } from './values/read.ts';
import { familyOf, sqlTypeName } from './values/types.ts';
import { vectorOf } from './values/write.ts';

/** The stored data of a column or of a field; undefined for any other node. */
function storedData(node: Bound, batch: RecordBatch): Data | undefined {
  if (node.kind === 'column') {
    const index = batch.schema.fields.findIndex((field) => field.name === node.name);
    return batch.data.children[index];
  }
  if (node.kind !== 'field') return undefined;
  const struct = storedData(node.operand, batch);
  if (struct !== undefined && !DataType.isStruct(struct.type)) return undefined;
  const field = struct?.children[node.index];
  return struct === undefined || field === undefined
    ? undefined
    : underStruct(field, readValid(struct));
}

/** The field's data with the nulls of its struct; every other buffer is shared. */
function underStruct(field: Data, valid: Valid): Data {
  if (valid === null || DataType.isNull(field.type)) return field;
  if (DataType.isUnion(field.type)) {
    throw new TypeError('a union in a struct with nulls cannot be taken out of it');
  }
  const bitmap = new Uint8Array(Math.ceil((field.offset + field.length) / 64) * 8);
  for (let row = 0; row < field.length; row++) {
    const bit = field.offset + row;
    bitmap[bit >> 3]! |= valid[row] === 1 && field.getValid(row) ? 1 << (bit & 7) : 0;
  }
  const buffers = [field.valueOffsets, field.values, bitmap, field.typeIds];
  const { type, offset, length, children, dictionary, variadicBuffers } = field;
  return new DataClass(
    type,
    offset,
    length,
    -1,
    buffers as Partial<Data['buffers']>,
    children,
    dictionary,
    variadicBuffers,
  );
}

/**
 * The values of an expression for the rows of a batch, which needs only the
 * columns that the expression uses. A column, or a field of one, keeps its
 * exact type and its buffers. Throws SqlError `overflow`, `value` or `limit`.
 */
export function evaluate(bound: BoundExpression, batch: RecordBatch): Vector {
  const stored = storedData(bound.root, batch);
  if (stored !== undefined) return new Vector([stored]);
  return metered(bound.budget, () =>
    vectorOf(evaluateNode(bound.root, batchFrame(batch)), bound.type),
  );
}

/**
 * The rows, ascending, for which a predicate is TRUE; FALSE and UNKNOWN rows
 * are left out. Throws SqlError `type` when the expression is no predicate.
 */
export function selectRows(bound: BoundExpression, batch: RecordBatch): Uint32Array {
  return metered(bound.budget, () => rowsThatAre(judgedStates(bound, batch), truth.true));
}

/** Number of rows that `selectRows` would return. */
export function countSelected(bound: BoundExpression, batch: RecordBatch): number {
  const { root } = bound;
  if (root.kind === 'comparison' && root.left.kind === 'column' && root.right.kind === 'literal') {
    const column = batchFrame(batch).column(root.left.name);
    const count = countToLiteral(root.operator, column, root.right.value);
    if (count !== null) return count;
  }
  return metered(bound.budget, () => countTrue(judgedStates(bound, batch)));
}

function judgedStates(bound: BoundExpression, batch: RecordBatch): Uint8Array {
  const family = familyOf(bound.root.type);
  if (family !== 'boolean' && family !== 'null') {
    throw new SqlError(
      'type',
      `expected a predicate, found ${sqlTypeName(bound.type)}`,
      bound.root.position,
    );
  }
  return statesOf(evaluateNode(bound.root, batchFrame(batch)));
}
