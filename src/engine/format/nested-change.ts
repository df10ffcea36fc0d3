import { DataType, type Data, type Field } from 'apache-arrow';
import { concatData } from '../../arrow/concat.ts';
import { dataOf, isNull, nullCountOf } from '../../arrow/data.ts';
import { childrenOf, withChildren } from '../../arrow/nested-type.ts';
import { nullsOf } from '../../arrow/nullability.ts';
import { takeData } from '../../arrow/take.ts';
import { pairs } from '../base/items.ts';

/** Replaces a nested field, or removes it by returning null. */
type ChangeField = (values: Data) => Data | null;

/**
 * A column with one nested field replaced or removed. Values under a null of the column are null to
 * the change.
 * @param positions Positions of the field: in the column, then in each child.
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
  for (const [at, [field, child]] of pairs(childrenOf(data.type), data.children).entries()) {
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

/** A field that is also null where its struct is null. */
function under(struct: Data, field: Data): Data {
  if (nullCountOf(struct) === 0) return field;
  const joined = concatData([field, nullsOf(field.type, 1)]);
  const rows = Uint32Array.from({ length: field.length }, (_, row) =>
    isNull(struct, row) ? field.length : row,
  );
  return takeData(joined, rows);
}
