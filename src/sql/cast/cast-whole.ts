import { isUtf8 } from 'node:buffer';
import type { DataType } from 'apache-arrow';
import type { KernelCall } from '../evaluate/bound.ts';
import { isValid, type BytesColumn, type Column } from '../values/column.ts';
import { SqlError } from '../values/sql-error.ts';
import { LostValue } from './cast-values.ts';
import { storageOf } from '../values/storage.ts';
import { familyOf, integerOf, integerRange } from '../values/types.ts';
import { doublesOf, widenToBigints } from '../values/widen.ts';

/** Target type of a cast, number of rows, and position in the text. */
export type CastTarget = Pick<KernelCall, 'type' | 'position' | 'length'>;

/** Texts and binaries share their bytes; a binary that becomes text is checked for valid UTF-8. */
export function castBytes(column: BytesColumn, from: DataType, target: CastTarget): Column {
  if (familyOf(from) === 'binary' && familyOf(target.type) === 'text') {
    for (let row = 0; row < column.length; row++) {
      const bytes = column.bytes.subarray(column.starts[row], column.ends[row]);
      if (isValid(column, row) && !isUtf8(bytes)) {
        throw new SqlError(
          'value',
          `expected UTF-8, found X'${Buffer.from(bytes.subarray(0, 30)).toString('hex')}'`,
          target.position,
        );
      }
    }
  }
  return column;
}

/** Conversions that cannot fail: 32-bit integers widen, integers become floats. */
export function castWhole(column: Column, from: DataType, target: CastTarget): Column | undefined {
  const to = target.type;
  const { length } = column;
  const storage = storageOf(to);
  const numeric = column.kind === 'number' || column.kind === 'bigint';
  if (!numeric || storage.kind === 'wide') return undefined;
  if (familyOf(to) === 'float' && storage.kind === 'number') {
    const doubles = doublesOf(column);
    const values =
      storage.array === Float32Array ? narrowed(doubles, column, from, target) : doubles;
    return { kind: 'number', length, values, valid: column.valid };
  }
  if (
    familyOf(from) !== 'integer' ||
    familyOf(to) !== 'integer' ||
    column.kind !== 'number' ||
    !holdsAll(from, to)
  ) {
    return undefined;
  }
  if (storage.kind === 'bigint') {
    const wide = widenToBigints(column.values);
    const values = storage.array === BigUint64Array ? new BigUint64Array(wide.buffer) : wide;
    return { kind: 'bigint', length, values, valid: column.valid };
  }
  if (storage.kind !== 'number') return undefined;
  const values = new storage.array(length);
  values.set(column.values);
  return { kind: 'number', length, values, valid: column.valid };
}

/** Doubles as float32. Values too large for float32 are refused, as they would become infinite. */
function narrowed(
  doubles: Float64Array,
  column: Column,
  from: DataType,
  target: CastTarget,
): Float32Array {
  const values = new Float32Array(doubles);
  for (let row = 0; row < values.length; row++) {
    if (!Number.isFinite(values[row]) && Number.isFinite(doubles[row]) && isValid(column, row)) {
      throw new LostValue(doubles[row]!, from, target.type, target.position);
    }
  }
  return values;
}

/** Whether an integer type holds all values of another. */
export function holdsAll(from: DataType, to: DataType): boolean {
  const [inner, outer] = [integerRange(integerOf(from)), integerRange(integerOf(to))];
  return outer[0] <= inner[0] && outer[1] >= inner[1];
}
