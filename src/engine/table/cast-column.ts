import { DataType, Vector, type Data } from 'apache-arrow';
import { concatData } from '../../arrow/concat.ts';
import { dataOf, isNull, nullCountOf } from '../../arrow/data.ts';
import { childrenOf } from '../../arrow/nested-type.ts';
import { nullsOf } from '../../arrow/nulls.ts';
import { retype } from '../../arrow/retype.ts';
import { takeData } from '../../arrow/take.ts';
import { sameType } from '../../arrow/types.ts';
import { castsExactly, exactCast } from '../../sql/exact-cast.ts';

/** A column of another type, or the first value that the type cannot hold, as text. */
export type CastColumn =
  | { readonly kind: 'column'; readonly data: Data }
  | { readonly kind: 'lost'; readonly value: string };

/** Whether a column of one type can become one of another: single values, and lists of the same kind of them. */
export function canCastColumn(from: DataType, to: DataType): boolean {
  if (sameType(from, to)) return true;
  if (!isListLike(from)) return castsExactly(from, to);
  const sizes = DataType.isFixedSizeList(from) && DataType.isFixedSizeList(to);
  if (from.typeId !== to.typeId || (sizes && from.listSize !== to.listSize)) return false;
  return canCastColumn(childrenOf(from)[0]!.type, childrenOf(to)[0]!.type);
}

/** A column as another type; `canCastColumn` was asked. No value changes but by the rounding of floats. */
export function castColumn(data: Data, to: DataType): CastColumn {
  if (sameType(data.type, to)) return { kind: 'column', data: retype(data, to) };
  if (isListLike(data.type)) return castList(data, to);
  const cast = exactCast(new Vector([data]), to);
  if (cast.kind === 'lost') return { kind: 'lost', value: cast.value };
  return { kind: 'column', data: concatData(cast.values.data) };
}

function isListLike(type: DataType): boolean {
  return DataType.isList(type) || DataType.isLargeList(type) || DataType.isFixedSizeList(type);
}

function castList(list: Data, to: DataType): CastColumn {
  const own = packed(list);
  const child = castColumn(own.children[0]!, childrenOf(to)[0]!.type);
  if (child.kind === 'lost') return child;
  const { length, nullBitmap: validity, valueOffsets: offsets } = own;
  const nullCount = nullCountOf(own);
  const shared = { length, nullCount, validity, children: [child.data] };
  return { kind: 'column', data: dataOf(to, { ...shared, ...(offsets && { offsets }) }) };
}

/** The list in memory of its own that begins at its first row, with nulls in the place of what null rows hide. */
function packed(list: Data): Data {
  const rows = Uint32Array.from({ length: list.length }, (_, row) => row);
  const own = takeData(list, rows);
  if (!DataType.isFixedSizeList(own.type) || nullCountOf(own) === 0) return own;
  const size = own.type.listSize;
  const values = own.children[0]!;
  const joined = concatData([values, nullsOf(values.type, 1)]);
  const places = Uint32Array.from({ length: values.length }, (_, place) =>
    isNull(own, Math.floor(place / size)) ? values.length : place,
  );
  const { length, nullBitmap: validity } = own;
  const children = [takeData(joined, places)];
  return dataOf(own.type, { length, nullCount: nullCountOf(own), validity, children });
}
