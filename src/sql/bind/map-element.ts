import { endAt, startAt } from '../../arrow/spans.ts';
import type { DataType } from 'apache-arrow';
import { kernelOf, type Bound, type Kernel } from '../evaluate/bound.ts';
import { coerce, commonOfTwo } from '../cast/coerce.ts';
import { isValid, type Column, type ListColumn, type Valid } from '../values/column.ts';
import { SqlError } from '../values/sql-error.ts';
import { listsOf } from '../values/lists.ts';
import { literalAs } from '../cast/literals.ts';
import { call, nullLiteral } from '../evaluate/node.ts';
import { valueOrder } from '../compare/order.ts';
import { hideRows } from '../values/read.ts';
import { constantColumn } from '../values/scalar.ts';
import { sameType } from '../../arrow/types.ts';
import { takeRows } from '../values/take.ts';
import { familyOf, mapTypes, sqlTypeName } from '../values/types.ts';

/** The keys or the values of all maps of a column, map by map. */
export function mapPart(maps: ListColumn, part: 'keys' | 'values', type: DataType): Column {
  const { child } = maps;
  return child.kind === 'struct'
    ? hideRows(child.field(part === 'keys' ? 0 : 1), child.valid)
    : constantColumn(type, null, child.length);
}

/** For each row the index of its key among the entries of all maps; -1 if its map has no such key. */
export function keyRows(maps: ListColumn, key: Column, type: DataType): Int32Array {
  const [keyType] = mapTypes(type);
  const order = valueOrder(mapPart(maps, 'keys', keyType), key, keyType);
  return Int32Array.from({ length: maps.length }, (_, row) => {
    if (!isValid(maps, row) || !isValid(key, row)) return -1;
    for (let at = startAt(maps, row); at < endAt(maps, row); at++) {
      if (order(at, row) === 0) return at;
    }
    return -1;
  });
}

/** The values at some entries; null where there is none. */
export function valuesAt(maps: ListColumn, entries: Int32Array, type: DataType): Column {
  const [, valueType] = mapTypes(type);
  const values = mapPart(maps, 'values', valueType);
  if (values.length === 0) return constantColumn(valueType, null, entries.length);
  const valid: Valid = Uint8Array.from(entries, (entry) => (entry < 0 ? 0 : 1));
  const rows = Uint32Array.from(entries, (entry) => Math.max(0, entry));
  return hideRows(takeRows(values, rows), valid);
}

/** The key as one of a map. Throws SqlError `type` for a key of another kind. */
export function keyOf(map: Bound, key: Bound): Bound {
  const [type] = mapTypes(map.type);
  if (familyOf(key.type) === 'null') return nullLiteral(type, key.position);
  const exact = key.kind === 'literal' ? literalAs(key, type) : undefined;
  const common = exact === undefined ? commonOfTwo(type, key.type) : undefined;
  if (exact === undefined && (common === undefined || !sameType(common, type))) {
    const message = `expected a key of type ${sqlTypeName(type)}, found ${sqlTypeName(key.type)}`;
    throw new SqlError('type', message, key.position);
  }
  return exact ?? coerce(key, type);
}

const elementKernel: Kernel = kernelOf(2, ([column, key], { types }) => {
  const maps = listsOf(column);
  return valuesAt(maps, keyRows(maps, key, types[0]), types[0]);
});

/** `operand[key]` of a map: the value, null for a key that it does not have. */
export function bindMapElement(operand: Bound, key: Bound, position: number): Bound {
  return call({
    name: 'element',
    type: mapTypes(operand.type)[1],
    arguments: [operand, keyOf(operand, key)],
    kernel: elementKernel,
    position,
    fallible: false,
  });
}
