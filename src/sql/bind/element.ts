import { copyBytes } from '../../arrow/data.ts';
import { endAt, sizeAt, startAt } from '../../arrow/spans.ts';
import { Field, List, type DataType } from 'apache-arrow';
import { kernelOf, type Bound, type Kernel } from '../evaluate/bound.ts';
import { coerce, commonType } from '../cast/coerce.ts';
import { bothValid, validOf, type Column } from '../values/column.ts';
import { excerpt, SqlError } from '../values/sql-error.ts';
import type { Name } from '../values/expression.ts';
import { listsOf } from '../values/lists.ts';
import { int64Type } from '../cast/literals.ts';
import { call, nullLiteral } from '../evaluate/node.ts';
import { hideRows } from '../values/read.ts';
import { constantColumn } from '../values/scalar.ts';
import { findField } from './scope.ts';
import { appendAll } from '../values/append.ts';
import { bindMapElement } from './map-element.ts';
import { takeRows } from '../values/take.ts';
import { elementType, familyOf, plainType, sqlTypeName } from '../values/types.ts';
import { bigintsOf } from '../values/widen.ts';

/** Element `n`, counted from 1, or from the end if negative; null if the list has no such element. */
const elementKernel: Kernel = kernelOf(2, ([operand, index], call) => {
  const lists = listsOf(operand);
  const wanted = bigintsOf(index);
  const present = bothValid(validOf(lists), validOf(index)) ?? new Uint8Array(call.length).fill(1);
  const valid = copyBytes(present);
  const rows = new Uint32Array(call.length);
  for (let row = 0; row < rows.length; row++) {
    const size = sizeAt(lists, row);
    const at = Number(wanted[row]);
    const inside = at >= 1 ? at <= size : at < 0 && -at <= size;
    valid[row] = inside ? valid[row]! : 0;
    rows[row] =
      valid[row] === 1 ? (at > 0 ? startAt(lists, row) + at - 1 : endAt(lists, row) + at) : 0;
  }
  return lists.child.length === 0
    ? constantColumn(call.type, null, call.length)
    : hideRows(takeRows(lists.child, rows), valid);
});

/** The stored struct type, whose fields may be dictionaries; for a dictionary the type of its values. */
function structOf(operand: Bound): DataType {
  const stored = operand.kind === 'column' || operand.kind === 'field' ? operand.stored : undefined;
  return stored !== undefined && familyOf(stored) === 'struct' ? stored : operand.type;
}

/** `operand.name` of a struct. Throws SqlError `type` for another operand, `unknown-column` for an unknown field. */
export function bindField(operand: Bound, name: Name, position: number): Bound {
  if (familyOf(operand.type) !== 'struct') {
    throw new SqlError(
      'type',
      `expected a struct before .${excerpt(name.text)}, found ${sqlTypeName(operand.type)}`,
      position,
    );
  }
  const { index } = findField(name, operand.type.children, 'field', position);
  const stored = structOf(operand).children[index]!.type;
  const { fallible } = operand;
  return Object.freeze({
    kind: 'field',
    type: plainType(stored),
    stored,
    operand,
    index,
    position,
    fallible,
  } as const);
}

/** `operand[index]` of a list. */
export function bindListElement(operand: Bound, index: Bound, position: number): Bound {
  const at = familyOf(index.type) === 'null' ? nullLiteral(int64Type, position) : index;
  if (familyOf(at.type) !== 'integer') {
    throw new SqlError(
      'type',
      `expected a whole number as the place in a list, found ${sqlTypeName(index.type)}`,
      index.position,
    );
  }
  const type = elementType(operand.type);
  return call({
    name: 'element',
    type,
    arguments: [operand, at],
    kernel: elementKernel,
    position,
    fallible: false,
  });
}

/** `operand['field']`, `operand[2]` or, of a map, `operand[key]`. Throws SqlError `type` for any other operand. */
export function bindElement(operand: Bound, index: Bound, position: number): Bound {
  const family = familyOf(operand.type);
  if (family === 'struct' && index.kind === 'literal' && typeof index.value === 'string') {
    return bindField(operand, { text: index.value, quoted: false }, position);
  }
  if (family === 'list') return bindListElement(operand, index, position);
  if (family === 'map') return bindMapElement(operand, index, position);
  const expected =
    family === 'struct' ? 'the name of a field in quotes' : 'a list, a struct or a map before [';
  throw new SqlError(
    'type',
    `expected ${expected}, found ${sqlTypeName(family === 'struct' ? index.type : operand.type)}`,
    position,
  );
}

/** Row `i` of the result is the list of the columns' rows `i`. */
const listKernel: Kernel = (columns, call): Column => {
  const { length } = call;
  const size = columns.length;
  const rows = new Uint32Array(length * size);
  const starts = new Uint32Array(length);
  const ends = new Uint32Array(length);
  for (let row = 0; row < length; row++) {
    starts[row] = row * size;
    ends[row] = (row + 1) * size;
    for (let item = 0; item < size; item++) rows[row * size + item] = item * length + row;
  }
  const child: Column =
    size === 0 ? { kind: 'null', length: 0 } : takeRows(appendAll(columns), rows);
  return { kind: 'list', length, child, starts, ends, valid: null };
};

/** The list type of a value type. */
export function listType(type: DataType): DataType {
  return new List(new Field('item', type, true));
}

/** `[a, b]`: a list of items of one type. */
export function bindList(items: readonly Bound[], position: number): Bound {
  const type = commonType(items, position);
  const typed = items.map((item) => coerce(item, type));
  return call({
    name: 'make_array',
    type: listType(type),
    arguments: typed,
    kernel: listKernel,
    position,
    fallible: false,
  });
}
