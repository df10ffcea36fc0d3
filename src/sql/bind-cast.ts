import type { DataType } from 'apache-arrow';
import type { Bound } from './bound.ts';
import { canCast } from './cast.ts';
import { castTo, tryCastTo } from './coerce.ts';
import { SqlError } from './errors.ts';
import { sameType } from './same-type.ts';
import { storedType } from './stored.ts';
import { elementType, familyOf, typeName } from './types.ts';
import { isZoned, requireUtc } from './zone.ts';

/** Days and hours of a moment depend on its zone; casts between moments do not. */
const zoneless: ReadonlySet<string> = new Set(['timestamp', 'integer']);

function checkZones(from: DataType, to: DataType, position: number): void {
  const [a, b] = [familyOf(from), familyOf(to)];
  if (a === 'list') {
    checkZones(elementType(from), b === 'list' ? elementType(to) : to, position);
  } else if (a === 'struct') {
    for (const { name, type } of to.children) {
      const field = from.children.find((each) => each.name === name);
      checkZones(field?.type ?? type, type, position);
    }
  } else if (b === 'timestamp' && a !== 'integer' && !isZoned(from)) {
    requireUtc(to, 'a moment without a zone is cast', position);
  } else if (!zoneless.has(b)) {
    requireUtc(from, `it becomes ${typeName(to)}`, position);
  }
}

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
  checkZones(bound.type, type, position);
  return tries ? tryCastTo(bound, type, position) : castTo(bound, type, position);
}
