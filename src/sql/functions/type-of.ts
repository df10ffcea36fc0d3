import {
  DataType,
  DateUnit,
  Precision,
  TimeUnit,
  Type,
  type Decimal,
  type Timestamp,
} from 'apache-arrow';
import { literal } from '../evaluate/node.ts';
import { textType } from '../cast/literals.ts';
import { elementType, familyOf, integerOf, mapTypes, type Family } from '../values/types.ts';
import { checkCount, type FunctionRow } from './function-row.ts';

const units: Readonly<Record<TimeUnit, string>> = {
  [TimeUnit.SECOND]: 's',
  [TimeUnit.MILLISECOND]: 'ms',
  [TimeUnit.MICROSECOND]: '\u00b5s',
  [TimeUnit.NANOSECOND]: 'ns',
};

const floats: Readonly<Record<Precision, string>> = {
  [Precision.HALF]: 'Float16',
  [Precision.SINGLE]: 'Float32',
  [Precision.DOUBLE]: 'Float64',
};

function unitOf(type: DataType): string {
  return units[(type as Timestamp).unit];
}

function listName(type: DataType): string {
  const inner = arrowName(elementType(type));
  return DataType.isFixedSizeList(type)
    ? `FixedSizeList(${type.listSize} x ${inner})`
    : `${DataType.isLargeList(type) ? 'LargeList' : 'List'}(${inner})`;
}

/** Names of types without parameters, as in Arrow's schema. */
function plainName(type: DataType): string {
  return Type[type.typeId];
}

function bytesName(type: DataType): string {
  return DataType.isFixedSizeBinary(type) ? `FixedSizeBinary(${type.byteWidth})` : plainName(type);
}

const names: Readonly<Record<Family, (type: DataType) => string>> = {
  null: () => 'Null',
  boolean: () => 'Boolean',
  integer: (type) => {
    const { signed, width } = integerOf(type);
    return `${signed ? 'Int' : 'UInt'}${width}`;
  },
  float: (type) => floats[(type as DataType & { precision: Precision }).precision],
  decimal: (type) => {
    const { bitWidth, precision, scale } = type as Decimal;
    return `Decimal${bitWidth}(${precision}, ${scale})`;
  },
  text: plainName,
  binary: bytesName,
  date: (type) => (DataType.isDate(type) && type.unit === DateUnit.DAY ? 'Date32' : 'Date64'),
  time: (type) => `Time${(type as DataType & { bitWidth: number }).bitWidth}(${unitOf(type)})`,
  timestamp: (type) => {
    const zone = (type as Timestamp).timezone;
    return `Timestamp(${unitOf(type)}${zone ? `, "${zone}"` : ''})`;
  },
  duration: (type) => `Duration(${unitOf(type)})`,
  interval: () => 'Interval(MonthDayNano)',
  list: listName,
  struct: (type) =>
    `Struct(${type.children.map((field) => `"${field.name}": ${arrowName(field.type)}`).join(', ')})`,
  map: (type) => `Map("entries": non-null Struct(${entriesName(type)}), unsorted)`,
  other: plainName,
};

function entriesName(type: DataType): string {
  const [key, value] = mapTypes(type);
  return `"key": non-null ${arrowName(key)}, "value": ${arrowName(value)}`;
}

/** The name of an Arrow type as DataFusion writes it. */
function arrowName(type: DataType): string {
  if (DataType.isDictionary(type)) {
    const { indices, dictionary } = type;
    return `Dictionary(${arrowName(indices)}, ${arrowName(dictionary)})`;
  }
  return names[familyOf(type)](type);
}

/** `arrow_typeof(x)`: the type of a value; of a column its stored type. */
export const typeOfRow: FunctionRow = {
  usage: 'arrow_typeof(value)',
  bind(made) {
    checkCount('arrow_typeof(value)', made, 1, 1);
    const value = made.arguments[0];
    const stored = value.kind === 'column' || value.kind === 'field' ? value.stored : value.type;
    return literal(textType, arrowName(stored), made.position);
  },
};
