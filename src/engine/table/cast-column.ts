import type { Data, DataType } from 'apache-arrow';
import { retype } from '../../arrow/retype.ts';
import { sameType } from '../../arrow/types.ts';
import { castsExactly, exactCast } from '../../sql/exact-cast.ts';

/** A column of another type, or the first value that the type cannot hold, as text. */
export type CastColumn =
  | { readonly kind: 'column'; readonly data: Data }
  | { readonly kind: 'lost'; readonly value: string };

/** Whether a column of one type can become one of another: single values, and lists and structs of them. */
export function canCastColumn(from: DataType, to: DataType): boolean {
  return sameType(from, to) || castsExactly(from, to);
}

/** A column as another type; `canCastColumn` was asked. No value changes but by the rounding of floats. */
export function castColumn(data: Data, to: DataType): CastColumn {
  if (sameType(data.type, to)) return { kind: 'column', data: retype(data, to) };
  const cast = exactCast(data, to);
  return cast.kind === 'lost' ? cast : { kind: 'column', data: cast.data };
}
