import type { DataType } from 'apache-arrow';
import type { Bound } from './bound.ts';
import { canCast } from './cast.ts';
import { castTo, tryCastTo } from './coerce.ts';
import { SqlError } from './errors.ts';
import { sameType } from './same-type.ts';
import { storedType } from './stored.ts';
import { typeName } from './types.ts';

/** CAST or TRY_CAST of a node. Throws SqlError `type` where no value of its type casts. */
export function bindCastTo(bound: Bound, type: DataType, tries: boolean, position: number): Bound {
  if (sameType(bound.type, type)) {
    // A column is handed out as it is stored, so a dictionary of texts is not yet a text.
    return sameType(storedType(bound), type) ? bound : castTo(bound, type, position);
  }
  if (!canCast(bound.type, type)) {
    throw new SqlError(
      'type',
      `expected a value that casts to ${typeName(type)}, found ${typeName(bound.type)}`,
      position,
    );
  }
  return tries ? tryCastTo(bound, type, position) : castTo(bound, type, position);
}
