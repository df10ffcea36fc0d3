import { DataType } from 'apache-arrow';
import type { BytesColumn, Column, ListColumn } from './column.ts';
import { isValid } from './column.ts';
import { SqlError } from './errors.ts';

/** How many bytes or elements each value of a type has; undefined where they may have any number. */
export function fixedSize(type: DataType): number | undefined {
  if (DataType.isFixedSizeList(type)) {
    return type.listSize;
  }
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

/** The first row whose value is not of a size. */
export function wrongSize(column: BytesColumn | ListColumn, size: number): number | undefined {
  for (let row = 0; row < column.length; row++) {
    if (column.ends[row]! - column.starts[row]! !== size && isValid(column, row)) {
      return row;
    }
  }
  return undefined;
}
