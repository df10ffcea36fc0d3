import { DataType, type Data, type Field } from 'apache-arrow';
import { concatData } from '../../arrow/concat.ts';
import { dataOf, isNull, nullCountOf } from '../../arrow/data.ts';
import { childrenOf, withChildren } from '../../arrow/nested-type.ts';
import { nullsOf } from '../../arrow/nullability.ts';
import { takeData } from '../../arrow/take.ts';

/** Puts another column in the place of a field inside one, or nothing. */
export type ChangeField = (values: Data) => Data | null;

/**
 * A column with one of the fields inside it changed or left out. What stands under a
 * null of the column is null to the change: nobody can see it.
 * @param positions Where the field lies: its place in the column, then in what lies there.
 */
export function changeInside(
  column: Data,
  positions: readonly number[],
  change: ChangeField,
): Data {
  const rows = Uint32Array.from({ length: column.length }, (_, row) => row);
  return changed(takeData(column, rows), positions, change);
}

function changed(data: Data, [position, ...inner]: readonly number[], change: ChangeField): Data {
  const fields: Field[] = [];
  const children: Data[] = [];
  for (const [at, field] of childrenOf(data.type).entries()) {
    const child = data.children[at]!;
    const made = at === position ? changedChild(data, child, inner, change) : child;
    if (made !== null) {
      fields.push(field.clone({ type: made.type }));
      children.push(made);
    }
  }
  const { length, nullBitmap: validity, valueOffsets: offsets } = data;
  const parts = { length, nullCount: nullCountOf(data), validity, children };
  return dataOf(withChildren(data.type, fields), { ...parts, ...(offsets && { offsets }) });
}

function changedChild(
  parent: Data,
  child: Data,
  inner: readonly number[],
  change: ChangeField,
): Data | null {
  const seen = DataType.isStruct(parent.type) ? under(parent, child) : child;
  return inner.length === 0 ? change(seen) : changed(seen, inner, change);
}

/** A field with the nulls of its struct. */
function under(struct: Data, field: Data): Data {
  if (nullCountOf(struct) === 0) return field;
  const joined = concatData([field, nullsOf(field.type, 1)]);
  const rows = Uint32Array.from({ length: field.length }, (_, row) =>
    isNull(struct, row) ? field.length : row,
  );
  return takeData(joined, rows);
}
