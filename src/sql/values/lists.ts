import { isValid, type Column, type ListColumn, type BytesColumn } from './column.ts';
import { hold, spend } from './meter.ts';
import { takeRows } from './take.ts';
import { DataType } from 'apache-arrow';
import { SqlError } from './sql-error.ts';

/** The column as lists; untyped nulls become null lists. */
export function listsOf(column: Column): ListColumn {
  if (column.kind === 'list') return column;
  const { length } = column;
  const spans = new Uint32Array(length);
  const child: Column = { kind: 'null', length: 0 };
  return { kind: 'list', length, child, starts: spans, ends: spans, valid: new Uint8Array(length) };
}

/** For each element of all lists, in order: its row in the child, and the row of its list. Null lists have none. */
export function elementRows(lists: ListColumn): {
  readonly children: Uint32Array;
  readonly owners: Uint32Array;
} {
  const sizeOf = (row: number): number =>
    lists.valid !== null && lists.valid[row] === 0 ? 0 : lists.ends[row]! - lists.starts[row]!;
  let size = 0;
  for (let row = 0; row < lists.length; row++) size += sizeOf(row);
  spend(size * 8);
  hold(size * 8);
  const children = new Uint32Array(size);
  const owners = new Uint32Array(size);
  for (let row = 0, at = 0; row < lists.length; row++) {
    const start = lists.starts[row]!;
    for (let child = start; child < start + sizeOf(row); child++, at++) {
      children[at] = child;
      owners[at] = row;
    }
  }
  return { children, owners };
}

/** The lists over a child without unused elements, so that work on the child is work on the lists. */
export function packedLists(lists: ListColumn): ListColumn {
  const { children, owners } = elementRows(lists);
  const inPlace = children.length === lists.child.length && children.every((row, at) => row === at);
  if (inPlace) return lists;
  const starts = new Uint32Array(lists.length);
  const ends = new Uint32Array(lists.length);
  for (const row of owners) ends[row]!++;
  for (let row = 0, end = 0; row < lists.length; row++) {
    starts[row] = end;
    end += ends[row]!;
    ends[row] = end;
  }
  return { ...lists, child: takeRows(lists.child, children), starts, ends };
}

/** How many bytes or elements each value of a type has; undefined where they may have any number. */
export function fixedSize(type: DataType): number | undefined {
  if (DataType.isFixedSizeList(type)) return type.listSize;
  return DataType.isFixedSizeBinary(type) ? type.byteWidth : undefined;
}

/** The column itself. Throws SqlError `value` for a list or a binary that is not as long as its type says. */
export function checkedSizes<Made extends Column>(
  column: Made,
  { type, position }: { readonly type: DataType; readonly position: number },
): Made {
  const size = fixedSize(type);
  if (size !== undefined && (column.kind === 'bytes' || column.kind === 'list')) {
    const row = wrongSize(column, size);
    if (row !== undefined) {
      const expected =
        column.kind === 'list' ? `a list of ${size} values` : `a binary of ${size} bytes`;
      const found = column.ends[row]! - column.starts[row]!;
      throw new SqlError('value', `expected ${expected}, found one of ${found}`, position);
    }
  }
  return column;
}

/** The first row whose value has another size. */
function wrongSize(column: BytesColumn | ListColumn, size: number): number | undefined {
  for (let row = 0; row < column.length; row++) {
    if (column.ends[row]! - column.starts[row]! !== size && isValid(column, row)) return row;
  }
  return undefined;
}
