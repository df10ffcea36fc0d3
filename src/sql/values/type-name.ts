import {
  Binary,
  Bool,
  DateDay,
  DateMillisecond,
  Decimal,
  Field,
  Float32,
  Float64,
  Int16,
  Int32,
  Int64,
  Int8,
  List,
  Struct,
  TimeMicrosecond,
  TimestampMicrosecond,
  TimestampMillisecond,
  TimestampNanosecond,
  TimestampSecond,
  Uint16,
  Uint32,
  Uint64,
  Uint8,
  Utf8,
  type DataType,
} from 'apache-arrow';
import { excerpt, SqlError } from './sql-error.ts';
import type { TypeName } from './expression.ts';

type Make = (parameters: readonly number[]) => DataType | undefined;

/** A type that takes no parameters. */
function plain(make: () => DataType): Make {
  return (parameters) => (parameters.length === 0 ? make() : undefined);
}

/** A text type; its length is accepted and ignored. */
const text: Make = (parameters) => (parameters.length <= 1 ? new Utf8() : undefined);

/** PostgreSQL's float(p): up to 24 bits are single precision. */
const float: Make = ([bits, ...rest]) => {
  if (rest.length > 0) return undefined;
  return bits === undefined || bits <= 24 ? new Float32() : new Float64();
};

const decimal: Make = ([precision = 38, scale = 10, ...rest]) => {
  const fits = precision >= 1 && precision <= 38 && scale <= precision;
  return rest.length === 0 && fits ? new Decimal(scale, precision, 128) : undefined;
};

const stamps: Readonly<Record<number, (zone: string | null) => DataType>> = {
  0: (zone) => new TimestampSecond(zone),
  3: (zone) => new TimestampMillisecond(zone),
  6: (zone) => new TimestampMicrosecond(zone),
  9: (zone) => new TimestampNanosecond(zone),
};

function timestamp(zone: string | null): Make {
  return ([digits = 6, ...rest]) => (rest.length === 0 ? stamps[digits]?.(zone) : undefined);
}

const int8 = plain(() => new Int8());
const int16 = plain(() => new Int16());
const int32 = plain(() => new Int32());
const int64 = plain(() => new Int64());
const uint8 = plain(() => new Uint8());
const uint16 = plain(() => new Uint16());
const uint32 = plain(() => new Uint32());
const uint64 = plain(() => new Uint64());
const float32 = plain(() => new Float32());
const float64 = plain(() => new Float64());
const binary = plain(() => new Binary());
const bool = plain(() => new Bool());

const makers: ReadonlyMap<string, Make> = new Map<string, Make>([
  ['tinyint', int8],
  ['smallint', int16],
  ['int', int32],
  ['integer', int32],
  ['bigint', int64],
  ['int1', int8],
  ['int2', int16],
  ['int4', int32],
  ['int8', int64],
  ['int16', int16],
  ['int32', int32],
  ['int64', int64],
  ['tinyint unsigned', uint8],
  ['smallint unsigned', uint16],
  ['int unsigned', uint32],
  ['integer unsigned', uint32],
  ['bigint unsigned', uint64],
  ['uint8', uint8],
  ['uint16', uint16],
  ['uint32', uint32],
  ['uint64', uint64],
  ['float', float],
  ['real', float32],
  ['float4', float32],
  ['float32', float32],
  ['double', float64],
  ['float8', float64],
  ['float64', float64],
  ['decimal', decimal],
  ['numeric', decimal],
  ['boolean', bool],
  ['bool', bool],
  ['string', text],
  ['text', text],
  ['varchar', text],
  ['char', text],
  ['utf8', text],
  ['binary', binary],
  ['bytea', binary],
  ['varbinary', binary],
  ['date', plain(() => new DateDay())],
  ['date32', plain(() => new DateDay())],
  ['date64', plain(() => new DateMillisecond())],
  ['time', plain(() => new TimeMicrosecond())],
  ['timestamp', timestamp(null)],
  ['datetime', timestamp(null)],
  ['timestamptz', timestamp('UTC')],
]);

/** The type of a name in CAST. Throws SqlError `type` if there is none. */
export function typeOfName({ name, parameters, inner, position }: TypeName): DataType {
  if (inner !== undefined) {
    const fields = inner.map(
      (field) => new Field(field.name?.text ?? 'item', typeOfName(field.type), true),
    );
    return name === 'list' ? new List(fields[0]!) : new Struct(fields);
  }
  const type = makers.get(name)?.(parameters);
  if (type === undefined) {
    const written = parameters.length === 0 ? name : `${name}(${parameters.join(', ')})`;
    throw new SqlError(
      'type',
      `expected the name of a type such as bigint, double or string, found ${excerpt(written)}`,
      position,
    );
  }
  return type;
}
