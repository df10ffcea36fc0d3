import { endAt, sizeAt, startAt } from '../../arrow/spans.ts';
import type { DataType } from 'apache-arrow';
import type { Bound, Kernel, KernelCall } from '../evaluate/bound.ts';
import { canCast } from '../cast/cast.ts';
import { castTo } from '../cast/coerce.ts';
import type { BytesColumn, Valid } from '../values/column.ts';
import { SqlError } from '../values/sql-error.ts';
import { maxTextBytes } from '../values/limits.ts';
import { hold, spend } from '../values/meter.ts';
import { textType } from '../cast/literals.ts';
import { call, nullLiteral } from '../evaluate/node.ts';
import { allValid, textColumnOf, textTooLong } from '../values/text.ts';
import { familyOf, sqlTypeName } from '../values/types.ts';

/** Joins the bytes of each row; a column's nulls add nothing. */
function joinRows(
  columns: readonly BytesColumn[],
  valid: Valid,
  { length, position }: KernelCall,
): BytesColumn {
  const size = columns.reduce((sum, column) => sum + sizeOf(column, valid), 0);
  if (size > maxTextBytes) throw textTooLong(position);
  hold(size + length * 8);
  const bytes = new Uint8Array(size);
  const starts = new Uint32Array(length);
  const ends = new Uint32Array(length);
  let end = 0;
  for (let row = 0; row < length; row++) {
    starts[row] = end;
    for (const column of valid === null || valid[row] === 1 ? columns : []) {
      end = copyRow(column, row, bytes, end);
    }
    ends[row] = end;
  }
  return { kind: 'bytes', length, bytes, starts, ends, valid };
}

function hasValue(column: BytesColumn, row: number): boolean {
  return column.valid === null || column.valid[row] === 1;
}

function sizeOf(column: BytesColumn, valid: Valid): number {
  let size = 0;
  for (let row = 0; row < column.length; row++) {
    const used = hasValue(column, row) && (valid === null || valid[row] === 1);
    size += used ? sizeAt(column, row) : 0;
  }
  return size;
}

/** Below this many bytes a loop is faster than `set`. */
const SHORT = 256;

function copyRow(column: BytesColumn, row: number, into: Uint8Array, end: number): number {
  if (!hasValue(column, row)) return end;
  const start = startAt(column, row);
  const size = endAt(column, row) - start;
  spend(size);
  if (size > SHORT) {
    into.set(column.bytes.subarray(start, start + size), end);
    return end + size;
  }
  for (let at = 0; at < size; at++) into[end + at] = column.bytes[start + at]!;
  return end + size;
}

/** `a || b`: null where one of them is. */
const joinKernel: Kernel = (columns, call) =>
  joinRows(columns.map(textColumnOf), allValid(columns), call);

/** `concat(a, b)`: a null counts as an empty text. */
const concatKernel: Kernel = (columns, call) => joinRows(columns.map(textColumnOf), null, call);

/** The operand as a text. Throws SqlError `type` for types without a text form, such as binary. */
export function asText(node: Bound, position: number): Bound {
  const family = familyOf(node.type);
  if (family === 'text') return node;
  if (family === 'null') return nullLiteral(textType, node.position);
  if (family === 'binary' || !canCast(node.type, textType)) {
    throw new SqlError(
      'type',
      `expected values that have a text, found ${sqlTypeName(node.type)}`,
      position,
    );
  }
  return castTo(node, textType, position);
}

function bindTexts(
  name: string,
  operands: readonly Bound[],
  kernel: Kernel,
  position: number,
): Bound {
  const args = operands.map((operand) => asText(operand, position));
  const type: DataType = textType;
  return call({ name, type, arguments: args, kernel, position, fallible: true });
}

/** `a || b || ...`; numbers, dates and booleans become texts. */
export function bindConcatenation(operands: readonly Bound[], position: number): Bound {
  return bindTexts('||', operands, joinKernel, position);
}

/** `concat(a, b, ...)`. */
export function bindConcat(operands: readonly Bound[], position: number): Bound {
  return bindTexts('concat', operands, concatKernel, position);
}
