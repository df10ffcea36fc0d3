import { DataType, DateUnit, IntervalUnit, Precision, Type, UnionMode } from 'apache-arrow';

/**
 * How a column lies in memory (Arrow columnar format, "Physical Memory
 * Layout"). Every type has exactly one; what handles columns is a table by it.
 */
export type Layout =
  | 'null'
  | 'bool'
  | 'fixed'
  | 'bytes'
  | 'large-bytes'
  | 'view'
  | 'list'
  | 'large-list'
  | 'fixed-list'
  | 'struct'
  | 'sparse-union'
  | 'dense-union'
  | 'dictionary';

const layouts: ReadonlyMap<Type, Layout> = new Map<Type, Layout>([
  [Type.Null, 'null'],
  [Type.Bool, 'bool'],
  [Type.Int, 'fixed'],
  [Type.Float, 'fixed'],
  [Type.Decimal, 'fixed'],
  [Type.Date, 'fixed'],
  [Type.Time, 'fixed'],
  [Type.Timestamp, 'fixed'],
  [Type.Interval, 'fixed'],
  [Type.Duration, 'fixed'],
  [Type.FixedSizeBinary, 'fixed'],
  [Type.Binary, 'bytes'],
  [Type.Utf8, 'bytes'],
  [Type.LargeBinary, 'large-bytes'],
  [Type.LargeUtf8, 'large-bytes'],
  [Type.BinaryView, 'view'],
  [Type.Utf8View, 'view'],
  [Type.List, 'list'],
  [Type.Map, 'list'],
  [Type.LargeList, 'large-list'],
  [Type.FixedSizeList, 'fixed-list'],
  [Type.Struct, 'struct'],
  [Type.Dictionary, 'dictionary'],
]);

export function layoutOf(type: DataType): Layout {
  if (DataType.isUnion(type)) return type.mode === UnionMode.Dense ? 'dense-union' : 'sparse-union';
  const layout = layouts.get(type.typeId);
  if (layout === undefined) throw new TypeError(`No layout for the type ${Type[type.typeId]}.`);
  return layout;
}

/** Whether a type is supported. */
export function isKnown(type: DataType): boolean {
  return DataType.isUnion(type) || layouts.has(type.typeId);
}

/** Whether the values of a type are text, which must be valid UTF-8. */
export function isText(type: DataType): boolean {
  return DataType.isUtf8(type) || DataType.isLargeUtf8(type) || DataType.isUtf8View(type);
}

const floatWidths = { [Precision.HALF]: 2, [Precision.SINGLE]: 4, [Precision.DOUBLE]: 8 };

const intervalWidths = {
  [IntervalUnit.YEAR_MONTH]: 4,
  [IntervalUnit.DAY_TIME]: 8,
  [IntervalUnit.MONTH_DAY_NANO]: 16,
};

/** Bytes of one value of a type of the `fixed` layout, or of one dictionary index. */
export function widthOf(type: DataType): number {
  if (DataType.isInt(type) || DataType.isTime(type) || DataType.isDecimal(type)) {
    return type.bitWidth / 8;
  }
  if (DataType.isFloat(type)) return floatWidths[type.precision];
  if (DataType.isDate(type)) return type.unit === DateUnit.DAY ? 4 : 8;
  if (DataType.isInterval(type)) return intervalWidths[type.unit];
  if (DataType.isFixedSizeBinary(type)) return type.byteWidth;
  if (DataType.isDictionary(type)) return widthOf(type.indices);
  return 8;
}

/** Bytes of one entry of a view column (Arrow format, "Variable-size Binary View Layout"). */
export const viewWidth = 16;
/** The longest value that lies inside its view. */
export const inlineCapacity = 12;
