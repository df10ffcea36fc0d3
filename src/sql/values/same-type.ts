import { DataType, type DataType as DataTypeClass, type Timestamp } from 'apache-arrow';
import { familyOf, integerOf, mapTypes, stepOf, type Family } from './types.ts';

type Compare = (left: DataTypeClass, right: DataTypeClass) => boolean;

function sameInteger(left: DataTypeClass, right: DataTypeClass): boolean {
  const [a, b] = [integerOf(left), integerOf(right)];
  return a.signed === b.signed && a.width === b.width;
}

function sameFloat(left: DataTypeClass, right: DataTypeClass): boolean {
  return DataType.isFloat(left) && DataType.isFloat(right) && left.precision === right.precision;
}

function sameDecimal(left: DataTypeClass, right: DataTypeClass): boolean {
  if (!DataType.isDecimal(left) || !DataType.isDecimal(right)) return false;
  const scale = left.scale === right.scale && left.precision === right.precision;
  return scale && left.bitWidth === right.bitWidth;
}

function sameStep(left: DataTypeClass, right: DataTypeClass): boolean {
  return stepOf(left) === stepOf(right);
}

function sameStamp(left: DataTypeClass, right: DataTypeClass): boolean {
  const zone = (type: DataTypeClass): string => (type as Timestamp).timezone ?? '';
  return sameStep(left, right) && zone(left) === zone(right);
}

function sameBinary(left: DataTypeClass, right: DataTypeClass): boolean {
  const fixed = DataType.isFixedSizeBinary(left) && DataType.isFixedSizeBinary(right);
  return !fixed || left.byteWidth === right.byteWidth;
}

function sameChildren(left: DataTypeClass, right: DataTypeClass): boolean {
  const [a, b] = [left.children, right.children];
  return (
    a.length === b.length &&
    a.every((field, at) => field.name === b[at]!.name && sameType(field.type, b[at]!.type))
  );
}

/** The name of a list's only field says nothing. */
function sameList(left: DataTypeClass, right: DataTypeClass): boolean {
  const fixed = DataType.isFixedSizeList(left) && DataType.isFixedSizeList(right);
  const size = !fixed || left.listSize === right.listSize;
  return size && sameType(left.children[0]!.type, right.children[0]!.type);
}

/** The names inside of a map say nothing. */
function sameMap(left: DataTypeClass, right: DataTypeClass): boolean {
  const [a, b] = [mapTypes(left), mapTypes(right)];
  return sameType(a[0], b[0]) && sameType(a[1], b[1]);
}

function sameOther(left: DataTypeClass, right: DataTypeClass): boolean {
  if (DataType.isDictionary(left) && DataType.isDictionary(right)) {
    return sameType(left.indices, right.indices) && sameType(left.dictionary, right.dictionary);
  }
  return sameChildren(left, right);
}

function alike(): boolean {
  return true;
}

const comparisons: Readonly<Record<Family, Compare>> = {
  null: alike,
  boolean: alike,
  text: alike,
  interval: alike,
  integer: sameInteger,
  float: sameFloat,
  decimal: sameDecimal,
  binary: sameBinary,
  date: sameStep,
  time: sameStep,
  duration: sameStep,
  timestamp: sameStamp,
  list: sameList,
  struct: sameChildren,
  map: sameMap,
  other: sameOther,
};

/** Whether two types hold the same values in the same form; metadata and nullability do not count. */
export function sameType(left: DataTypeClass, right: DataTypeClass): boolean {
  if (left === right) return true;
  return left.typeId === right.typeId && comparisons[familyOf(left)](left, right);
}
