import { DataType as DataTypeClass, type DataType } from 'apache-arrow';
import { kernelOf, type Kernel } from '../evaluate/bound.ts';
import { conversionOf, LostValue, type RowValue } from './cast-values.ts';
import { castBytes, castWhole, holdsAll, type CastTarget } from './cast-whole.ts';
import {
  isValid,
  newStates,
  statesColumn,
  structColumn,
  truth,
  validOf,
  type Column,
  type ListColumn,
  type NumberArray,
  type StructColumn,
  type Valid,
} from '../values/column.ts';
import { checkedSizes, packedLists } from '../values/lists.ts';
import { hideRows } from '../values/read.ts';
import { constantColumn, scalarAt } from '../values/scalar.ts';
import { isSingle, storageOf } from '../values/storage.ts';
import { buildTexts, textColumnOf, textAt } from '../values/text.ts';
import { elementType, familyOf, mapTypes, stepOf, type Family } from '../values/types.ts';
import { sameType } from '../../arrow/types.ts';
import { readsClock } from '../values/zone-clock.ts';

/** Range of the type's typed array, in steps. */
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

function converter(column: Column, from: DataType, target: CastTarget): (row: number) => RowValue {
  const convert = tryConverter(column, from, target.type);
  return (row) => {
    const converted = convert(row);
    if (converted === undefined) {
      const value = scalarAt(column, row, familyOf(from) === 'text') as RowValue;
      throw new LostValue(value, from, target.type, target.position);
    }
    return converted;
  };
}

/** Rows and values of a new column. */
interface Rows extends CastTarget {
  readonly valid: Valid;
  readonly value: (row: number) => RowValue;
}

/** Puts each row that has a value. */
function fill(into: { [row: number]: RowValue }, { length, valid, value }: Rows): void {
  for (let row = 0; row < length; row++) {
    if (valid === null || valid[row] === 1) into[row] = value(row);
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

/** Builds the column in the storage of the target type. */
function fillRows(rows: Rows): Column {
  const { length, valid, type, position, value } = rows;
  const storage = storageOf(type);
  if (storage.kind === 'states') return fillStates(rows);
  if (storage.kind === 'number') return fillNumbers(rows, new storage.array(length));
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

/** `[1, , 2]`: the elements as texts, nothing in the place of a null. */
function listTexts(column: ListColumn, from: DataType, target: CastTarget): Column {
  const { child, starts, ends, valid, length } = packedLists(column);
  const inner = { ...target, length: child.length };
  const texts = textColumnOf(castColumn(child, elementType(from), inner));
  return buildTexts(length, valid, target.position, (row) => {
    const parts = Array.from({ length: ends[row]! - starts[row]! }, (_, at) =>
      isValid(texts, starts[row]! + at) ? textAt(texts, starts[row]! + at) : '',
    );
    return `[${parts.join(', ')}]`;
  });
}

function castLists(column: ListColumn, from: DataType, target: CastTarget): Column {
  const lists = packedLists(column);
  const type = elementType(target.type);
  const inner = { ...target, type, length: lists.child.length };
  return { ...lists, child: castColumn(lists.child, elementType(from), inner) };
}

/** Keys and values are matched by position; their names are ignored. */
function castMaps(column: ListColumn, from: DataType, target: CastTarget): Column {
  const maps = packedLists(column);
  const { child } = maps;
  const [before, after] = [mapTypes(from), mapTypes(target.type)];
  const cast = (at: 0 | 1): Column =>
    castColumn((child as StructColumn).field(at), before[at], {
      ...target,
      type: after[at],
      length: child.length,
    });
  const columns = child.kind === 'struct' ? [cast(0), cast(1)] : [];
  return child.kind === 'struct'
    ? { ...maps, child: structColumn(child.length, child.valid, (at) => columns[at]!) }
    : maps;
}

/** Fields are matched by name; a missing one is null. */
function castStructs(column: StructColumn, from: DataType, target: CastTarget): Column {
  const { length, valid } = column;
  const fields = target.type.children.map(({ name, type }): Column => {
    const at = from.children.findIndex((field) => field.name === name);
    return at < 0
      ? constantColumn(type, null, length)
      : castColumn(hideRows(column.field(at), valid), from.children[at]!.type, { ...target, type });
  });
  return structColumn(length, valid, (at) => fields[at]!);
}

/** The column as another type. Throws SqlError `overflow` or `value` for the first value that does not fit. */
export function castColumn(column: Column, from: DataType, target: CastTarget): Column {
  const { type, length } = target;
  if (sameType(from, type)) return column;
  if (column.kind === 'null') return constantColumn(type, null, length);
  if (column.kind === 'struct') return castStructs(column, from, target);
  if (column.kind === 'list' && familyOf(type) === 'map') return castMaps(column, from, target);
  if (column.kind === 'list') {
    return familyOf(type) === 'text'
      ? listTexts(column, from, target)
      : checkedSizes(castLists(column, from, target), target);
  }
  if (column.kind === 'bytes' && storageOf(type).kind === 'bytes') {
    return checkedSizes(castBytes(column, from, target), target);
  }
  const whole = castWhole(column, from, target);
  return (
    whole ?? fillRows({ ...target, valid: validOf(column), value: converter(column, from, target) })
  );
}

/** Pairs of fields with the same name. */
function sharedFields(from: DataType, to: DataType): readonly (readonly [DataType, DataType])[] {
  return to.children.flatMap(({ name, type }): [DataType, DataType][] => {
    const field = from.children.find((each) => each.name === name);
    return field === undefined ? [] : [[field.type, type]];
  });
}

/** Whether CAST from one type to another is defined. */
export function canCast(from: DataType, to: DataType): boolean {
  const [a, b] = [familyOf(from), familyOf(to)];
  if (sameType(from, to) || a === 'null') return true;
  if (a === 'list' && (b === 'list' || b === 'text')) {
    const element = elementType(from);
    return b === 'list'
      ? canCast(element, elementType(to))
      : familyOf(element) !== 'binary' && canCast(element, to);
  }
  if (a === 'struct' && b === 'struct') {
    const shared = sharedFields(from, to);
    return shared.length > 0 && shared.every(([inner, outer]) => canCast(inner, outer));
  }
  if (a === 'map' || b === 'map') {
    return a === b && mapTypes(from).every((type, at) => canCast(type, mapTypes(to)[at]!));
  }
  const bytes = (a === 'text' || a === 'binary') && (b === 'text' || b === 'binary');
  return bytes || conversionOf(a, b) !== undefined;
}

/** Whether the cast succeeds for every value, so that it may run on rows that a condition excludes. */
export function castAlwaysFits(from: DataType, to: DataType): boolean {
  const [a, b] = [familyOf(from), familyOf(to)];
  if (a === 'integer' && b === 'integer') return holdsAll(from, to);
  if (a === 'list' && b === 'list') {
    return !DataTypeClass.isFixedSizeList(to) && castAlwaysFits(elementType(from), elementType(to));
  }
  if (a === 'struct' && b === 'struct') {
    return sharedFields(from, to).every(([inner, outer]) => castAlwaysFits(inner, outer));
  }
  if (a === 'map' && b === 'map') {
    return mapTypes(from).every((type, at) => castAlwaysFits(type, mapTypes(to)[at]!));
  }
  const calendar = (a === 'date' || a === 'timestamp') && (b === 'date' || b === 'timestamp');
  if (calendar) return stepOf(from) === stepOf(to) && (b === 'date' || !readsClock(from, to));
  if (a === 'float' && b === 'float') return !isSingle(to) || isSingle(from);
  if (a === 'binary' || b === 'binary' || a === 'list') {
    return a === 'text' && !DataTypeClass.isFixedSizeBinary(to);
  }
  return a === 'null' || (b === 'float' ? a !== 'text' : b === 'text');
}

/** The kernel of CAST; the type of the call is the target. */
export const castKernel: Kernel = kernelOf(1, ([column], call) =>
  castColumn(column, call.types[0], call),
);
