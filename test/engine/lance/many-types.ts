import { createRequire } from 'node:module';
import type * as Arrow from 'apache-arrow';
import type { DataType, Field as AnyField, Schema as AnySchema } from 'apache-arrow';

// LanceDB requires the CommonJS module of the package, whose classes are others.
const arrow: typeof Arrow = createRequire(import.meta.url)('apache-arrow');
const {
  Bool,
  Date_,
  DateUnit,
  Decimal,
  Dictionary,
  Duration,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float16,
  Float32,
  Float64,
  Int32,
  Int64,
  LargeList,
  LargeUtf8,
  List,
  Schema,
  Struct,
  TimeMicrosecond,
  Timestamp,
  TimeUnit,
  Uint8,
  Utf8,
} = arrow;

function nullable(name: string, type: DataType): AnyField {
  return new Field(name, type, true);
}

/** A schema with one column of each type that LanceDB stores. */
export function manyTypes(): AnySchema {
  const deep = new Struct([nullable('q', new Struct([new Field('z', new Int32(), false)]))]);
  const structs = new Struct([
    nullable('a', new Utf8()),
    nullable('b', new List(nullable('x', new Float64()))),
  ]);
  const types: Readonly<Record<string, DataType>> = {
    list: new List(nullable('item', new Int64())),
    structs: new List(nullable('item', structs)),
    deep,
    vector: new FixedSizeList(4, nullable('item', new Float32())),
    half: new FixedSizeList(2, nullable('item', new Float16())),
    bytes: new FixedSizeList(2, nullable('item', new Uint8())),
    zoned: new Timestamp(TimeUnit.MICROSECOND, 'UTC'),
    local: new Timestamp(TimeUnit.MILLISECOND, null),
    money: new Decimal(2, 10, 128),
    word: new Dictionary(new Utf8(), new Int32()),
    seven: new FixedSizeBinary(7),
    long: new LargeUtf8(),
    longs: new LargeList(nullable('item', new Utf8())),
    day: new Date_(DateUnit.DAY),
    clock: new TimeMicrosecond(),
    span: new Duration(TimeUnit.MILLISECOND),
  };
  const fields = Object.entries(types).map(([name, type]) => nullable(name, type));
  return new Schema(
    [...fields, new Field('flag', new Bool(), false)],
    new Map([['owner', 'tests']]),
  );
}
