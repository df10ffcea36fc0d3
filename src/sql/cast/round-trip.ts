import type { DataType } from 'apache-arrow';
import { conversionOf, localSteps, LostValue, type Convert, type RowValue } from './cast-values.ts';
import { castColumn } from './cast.ts';
import type { CastTarget } from './cast-whole.ts';
import { timestampOf } from './coerce.ts';
import { isValid, type Column } from '../values/column.ts';
import { packedLists } from '../values/lists.ts';
import { hideRows } from '../values/read.ts';
import { scalarAt } from '../values/scalar.ts';
import { elementType, familyOf, stepOf, type Family } from '../values/types.ts';
import { hasClock, isPlainStamp } from '../values/zone-clock.ts';

/** Whether a cast between two families may round; texts and binaries are judged by the cast itself. */
type MayRound = (from: Family, to: Family) => boolean;

const judged: ReadonlySet<Family> = new Set<Family>([
  'boolean',
  'integer',
  'float',
  'decimal',
  'date',
  'timestamp',
  'time',
  'duration',
]);

/** Subject of the round-trip check. */
interface Exact extends CastTarget {
  readonly mayRound: MayRound;
}

/** Throws LostValue for the first value that changes when it is converted back. */
function checkSame(before: Column, after: Column, from: DataType, target: Exact): void {
  const { type } = target;
  const [a, b] = [familyOf(from), familyOf(type)];
  if (before.kind === 'list' && after.kind === 'list') {
    const inner = { ...target, type: elementType(type) };
    checkSame(before.child, after.child, elementType(from), inner);
  } else if (before.kind === 'struct' && after.kind === 'struct') {
    checkFields(before, after, from, target);
  } else if (judged.has(a) && judged.has(b) && !target.mayRound(a, b)) {
    checkValues(before, after, from, target);
  }
}

function checkFields(
  before: Column & { kind: 'struct' },
  after: Column & { kind: 'struct' },
  from: DataType,
  target: Exact,
): void {
  for (const [at, { name, type }] of target.type.children.entries()) {
    const place = from.children.findIndex((field) => field.name === name);
    if (place >= 0) {
      const field = hideRows(before.field(place), before.valid);
      checkSame(packed(field), packed(after.field(at)), from.children[place]!.type, {
        ...target,
        type,
      });
    }
  }
}

/** A timestamp that gained a zone is converted back through it; one that lost its zone is converted back unchanged. */
function wayBack(from: DataType, to: DataType): Convert | undefined {
  if (isPlainStamp(to) && hasClock(from)) return localSteps(from, to);
  const plain = isPlainStamp(from) && hasClock(to) ? timestampOf(stepOf(to), null) : to;
  return conversionOf(familyOf(from), familyOf(to))?.(from, plain);
}

function checkValues(before: Column, after: Column, from: DataType, target: Exact): void {
  const { type, position } = target;
  const back = wayBack(type, from);
  for (let row = 0; row < before.length; row++) {
    if (isValid(before, row)) {
      const value = scalarAt(before, row, false) as RowValue;
      if (back?.(scalarAt(after, row, false) as RowValue) !== value) {
        throw new LostValue(value, from, type, position);
      }
    }
  }
}

/** Packed lists have their elements in the same rows before and after a cast. */
function packed(column: Column): Column {
  return column.kind === 'list'
    ? { ...packedLists(column), child: packed(packedLists(column).child) }
    : column;
}

/**
 * The column as another type, no value changed but by the rounding that is allowed.
 * Throws LostValue for the first value that the type cannot hold, and SqlError `value`
 * for a list or a binary of another length than the type's.
 */
export function castExactly(
  column: Column,
  from: DataType,
  target: CastTarget,
  mayRound: MayRound,
): Column {
  const before = packed(column);
  const after = castColumn(before, from, target);
  checkSame(before, after, from, { ...target, mayRound });
  return after;
}
