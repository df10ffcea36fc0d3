import { isUtf8 } from 'node:buffer';
import type { DataType } from 'apache-arrow';
import type { Kernel, KernelCall } from './bound.ts';
import type { RowValue } from './cast-values.ts';
import { conversionOf, formatFloat } from './cast-values.ts';
import type { BytesColumn, Column, NumberArray, Valid } from './column.ts';
import { isValid, newStates, statesColumn, truth, validOf } from './column.ts';
import { excerpt, SqlError } from './errors.ts';
import { constantColumn, scalarAt } from './scalar.ts';
import { isSingle, storageOf } from './storage.ts';
import { buildTexts } from './text.ts';
import type { Family } from './types.ts';
import { sameType } from './same-type.ts';
import { elementType, familyOf, integerOf, integerRange, stepOf, typeName } from './types.ts';
import { doublesOf, widenToBigints } from './widen.ts';

type Target = Pick<KernelCall, 'type' | 'position' | 'length'>;

function show(value: RowValue): string {
  return typeof value === 'string'
    ? `'${excerpt(value)}'`
    : typeof value === 'number'
      ? formatFloat(value)
      : String(value);
}

/** What an integer that does not fit is, and a text that is no number, are two kinds of refusal. */
function unfit(value: RowValue, from: DataType, { type, position }: Target): SqlError {
  const message = `expected a value that ${typeName(type)} can hold, found ${show(value)} of ${typeName(from)}`;
  return new SqlError(typeof value === 'string' ? 'value' : 'overflow', message, position);
}

/** The steps that the type's array holds; beyond it there is no value. */
function fits(value: RowValue, type: DataType): boolean {
  if (typeof value !== 'bigint' || familyOf(type) === 'decimal' || familyOf(type) === 'integer') {
    return true;
  }
  const limit = storageOf(type).kind === 'number' ? 1n << 31n : 1n << 63n;
  return value < limit && value >= -limit;
}

/** The value of a row as one of another type; undefined where that type cannot hold it. */
export function tryConverter(
  column: Column,
  from: DataType,
  to: DataType,
): (row: number) => RowValue | undefined {
  const families: readonly [Family, Family] = [familyOf(from), familyOf(to)];
  const make = conversionOf(...families)!;
  const convert = make(from, to);
  const isText = families[0] === 'text';
  return (row) => {
    const converted = convert(scalarAt(column, row, isText) as RowValue);
    return converted === undefined || !fits(converted, to) ? undefined : converted;
  };
}

function converter(column: Column, from: DataType, target: Target): (row: number) => RowValue {
  const convert = tryConverter(column, from, target.type);
  return (row) => {
    const converted = convert(row);
    if (converted === undefined) {
      throw unfit(scalarAt(column, row, familyOf(from) === 'text') as RowValue, from, target);
    }
    return converted;
  };
}

/** The rows of a new column, and how to come by their values. */
interface Rows extends Target {
  readonly valid: Valid;
  readonly value: (row: number) => RowValue;
}

/** Puts each row that has a value. */
function fill(into: { [row: number]: RowValue }, { length, valid, value }: Rows): void {
  for (let row = 0; row < length; row++) {
    if (valid === null || valid[row] === 1) {
      into[row] = value(row);
    }
  }
}

function fillStates(rows: Rows): Column {
  const states = newStates(rows.length).fill(truth.unknown);
  const toState = (row: number): number => (rows.value(row) === true ? truth.true : truth.false);
  fill(states, { ...rows, value: toState });
  return statesColumn(states);
}

function fillNumbers(rows: Rows, values: NumberArray): Column {
  fill(values, { ...rows, value: (row) => Number(rows.value(row)) });
  return { kind: 'number', length: rows.length, values, valid: rows.valid };
}

/** The rows in whatever form the target has. */
function fillRows(rows: Rows): Column {
  const { length, valid, type, position, value } = rows;
  const storage = storageOf(type);
  if (storage.kind === 'states') {
    return fillStates(rows);
  }
  if (storage.kind === 'number') {
    return fillNumbers(rows, new storage.array(length));
  }
  if (storage.kind === 'bigint') {
    const values = new storage.array(length);
    fill(values, rows);
    return { kind: 'bigint', length, values, valid };
  }
  if (storage.kind === 'wide') {
    const values = Array.from({ length }, () => 0n);
    fill(values, rows);
    return { kind: 'wide', length, values, valid };
  }
  return buildTexts(length, valid, position, (row) => value(row) as string);
}

/** Texts and binaries share their bytes; only what becomes text is checked. */
function castBytes(column: BytesColumn, from: DataType, target: Target): Column {
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

/** The conversions that need no look at the values: 32-bit integers widen, integers become floats. */
function castWhole(column: Column, from: DataType, target: Target): Column | undefined {
  const to = target.type;
  const { length } = column;
  const storage = storageOf(to);
  const numeric = column.kind === 'number' || column.kind === 'bigint';
  if (!numeric || storage.kind === 'wide') {
    return undefined;
  }
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
  if (storage.kind !== 'number') {
    return undefined;
  }
  const values = new storage.array(length);
  values.set(column.values);
  return { kind: 'number', length, values, valid: column.valid };
}

/** Doubles as float32. One that is too large would become infinite and is refused. */
function narrowed(
  doubles: Float64Array,
  column: Column,
  from: DataType,
  target: Target,
): Float32Array {
  const values = new Float32Array(doubles);
  for (let row = 0; row < values.length; row++) {
    if (!Number.isFinite(values[row]) && Number.isFinite(doubles[row]) && isValid(column, row)) {
      throw unfit(doubles[row]!, from, target);
    }
  }
  return values;
}

function holdsAll(from: DataType, to: DataType): boolean {
  const [inner, outer] = [integerRange(integerOf(from)), integerRange(integerOf(to))];
  return outer[0] <= inner[0] && outer[1] >= inner[1];
}

/** The column as another type. Throws SqlError `overflow` or `value` for the first value that does not fit. */
function castColumn(column: Column, from: DataType, target: Target): Column {
  const { type, length } = target;
  if (sameType(from, type)) {
    return column;
  }
  if (column.kind === 'null') {
    return constantColumn(type, null, length);
  }
  if (column.kind === 'list') {
    const child = castColumn(column.child, elementType(from), {
      ...target,
      type: elementType(type),
      length: column.child.length,
    });
    return { ...column, child };
  }
  if (column.kind === 'bytes' && storageOf(type).kind === 'bytes') {
    return castBytes(column, from, target);
  }
  const whole = castWhole(column, from, target);
  return (
    whole ?? fillRows({ ...target, valid: validOf(column), value: converter(column, from, target) })
  );
}

/** Whether CAST from one type to another is defined. */
export function canCast(from: DataType, to: DataType): boolean {
  const [a, b] = [familyOf(from), familyOf(to)];
  if (a === 'null' || (a === 'list' && b === 'list')) {
    return a === 'null' || canCast(elementType(from), elementType(to));
  }
  const bytes = (a === 'text' || a === 'binary') && (b === 'text' || b === 'binary');
  return bytes || conversionOf(a, b) !== undefined;
}

/** Whether no value can be refused, so that a cast is safe on rows that are not asked for. */
export function castAlwaysFits(from: DataType, to: DataType): boolean {
  const [a, b] = [familyOf(from), familyOf(to)];
  if (a === 'integer' && b === 'integer') {
    return holdsAll(from, to);
  }
  const calendar = (a === 'date' || a === 'timestamp') && (b === 'date' || b === 'timestamp');
  if (calendar) {
    return stepOf(from) === stepOf(to);
  }
  if (a === 'float' && b === 'float') {
    return !isSingle(to) || isSingle(from);
  }
  return a === 'null' || b === 'float'
    ? a !== 'text'
    : b === 'text'
      ? a !== 'binary'
      : a === 'text' && b === 'binary';
}

/** The kernel of CAST; the type of the call is the target. */
export const castKernel: Kernel = ([column], call) => castColumn(column!, call.types[0]!, call);
