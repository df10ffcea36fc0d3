import type * as Arrow from 'apache-arrow';
import { arrow } from '../clients/lancedb.ts';
import type { Random } from '../service/random.ts';
import type { Value } from './value.ts';

/** How expressions may use a column. */
export type Family =
  | 'integer'
  | 'float'
  | 'text'
  | 'boolean'
  | 'date'
  | 'timestamp'
  | 'decimal'
  | 'numbers'
  | 'struct'
  | 'vector'
  | 'map'
  | 'binary'
  | 'time'
  | 'duration'
  | 'list'
  | 'zero';

/** A sort of column of the random tables. */
export interface ColumnKind {
  readonly family: Family;
  readonly type: Arrow.DataType;
  /** One value that is no null. */
  readonly value: (random: Random) => Value;
  /** Values as SQL, of the same family. */
  readonly literals: readonly string[];
}

/** The floats of each vector. */
export const DIMENSION = 4;

const texts = [
  '',
  'a',
  'b',
  'ab',
  'A',
  'abc',
  'ü',
  'Ünïcode',
  '名前',
  '🙂',
  '%',
  '_',
  "it's",
  'a b',
  ' a ',
  '10',
  'a text of more than twelve bytes',
  'line\nbreak',
  'e\u0301',
];

/** One of some values. */
export function oneOf<T>(random: Random, values: readonly T[]): T {
  return values[random(values.length)]!;
}

/** Whether something happens that does so in one of so many cases. */
export function oneIn(random: Random, cases: number): boolean {
  return random(cases) === 0;
}

/** A text as SQL. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function integer(type: Arrow.Int): ColumnKind {
  const bits = BigInt(type.bitWidth - (type.isSigned ? 1 : 0));
  const greatest = 2n ** bits - 1n;
  const least = type.isSigned ? -greatest - 1n : 0n;
  const values = [least, least + 1n, 0n, 1n, 2n, 3n, 7n, 100n, greatest - 1n, greatest];
  const small = type.isSigned ? [-1n, -5n, ...values] : values;
  const literals = small.filter((value) => value < 2n ** 63n && value > -(2n ** 63n));
  return {
    family: 'integer',
    type,
    value: (random) => {
      const value = oneOf(random, small);
      return type.bitWidth === 64 ? value : Number(value);
    },
    literals: literals.map(String),
  };
}

const floats = [0, 1, -1, 0.5, 1.5, -2.25, 1e10, -1e-5, 3.0000001, NaN, Infinity, -Infinity];
const floatLiterals = ['0.0', '1.0', '-1.0', '0.5', '1.5', '-2.25', '1e10', '3', '-1'];

function float(type: Arrow.Float): ColumnKind {
  const fit = type.precision === arrow.Precision.SINGLE ? Math.fround : Number;
  return {
    family: 'float',
    type,
    value: (random) => fit(oneOf(random, floats)),
    literals: floatLiterals,
  };
}

const seconds = [
  0n,
  1n,
  -1n,
  1_577_836_800n,
  1_577_836_799n,
  951_782_400n,
  -86_400n,
  4_102_444_800n,
];
const perSecond = [1n, 1000n, 1_000_000n, 1_000_000_000n] as const;

/** About the hours that clocks in Berlin leave out and show twice. */
const changes = [1_585_441_800n, 1_585_445_400n, 1_603_585_800n, 1_603_589_400n, 1_603_593_000n];

function timestamp(unit: Arrow.TimeUnit, zone?: string): ColumnKind {
  const steps = perSecond[unit];
  const moments = zone === undefined ? seconds : [...seconds, ...changes];
  return {
    family: 'timestamp',
    type: new arrow.Timestamp(unit, zone),
    value: (random) => oneOf(random, moments) * steps + BigInt(random(Number(steps))),
    literals: [
      "timestamp '2020-01-01 00:00:00'",
      "timestamp '1970-01-01 00:00:00'",
      "timestamp '2000-02-29 12:30:00'",
    ],
  };
}

const inner = new arrow.Struct([
  new arrow.Field('a', new arrow.Int32(), true),
  new arrow.Field('b', new arrow.Utf8(), true),
]);

const entries = new arrow.Struct<{ key: Arrow.Utf8; value: Arrow.Int32 }>([
  new arrow.Field('key', new arrow.Utf8(), false),
  new arrow.Field('value', new arrow.Int32(), true),
]);

/** A null in one of five cases. */
export function orNull(random: Random, value: (random: Random) => Value): Value {
  return oneIn(random, 5) ? null : value(random);
}

/** Small numbers, with which expressions compute. */
const small = (type: Arrow.Int): ColumnKind => ({
  family: 'integer',
  type,
  value: (random) => (type.bitWidth === 64 ? BigInt(random(41) - 20) : random(41) - 20),
  literals: ['-20', '-3', '0', '1', '5', '19', '100'],
});

/** Every sort of column, by the name that such columns begin with. */
export const columnKinds: Readonly<Record<string, ColumnKind>> = {
  id: { ...small(new arrow.Int64()), literals: ['0', '1', '5', '10', '23', '40'] },
  n: small(new arrow.Int32()),
  m: small(new arrow.Int64()),
  i8: integer(new arrow.Int8()),
  i16: integer(new arrow.Int16()),
  i32: integer(new arrow.Int32()),
  i64: integer(new arrow.Int64()),
  u8: integer(new arrow.Uint8()),
  u16: integer(new arrow.Uint16()),
  u32: integer(new arrow.Uint32()),
  u64: integer(new arrow.Uint64()),
  f32: float(new arrow.Float32()),
  f64: float(new arrow.Float64()),
  z: {
    family: 'zero',
    type: new arrow.Float64(),
    value: (random) => oneOf(random, [0, -0, NaN]),
    literals: ['0.0'],
  },
  t: {
    family: 'text',
    type: new arrow.Utf8(),
    value: (random) => oneOf(random, texts),
    literals: texts.map(quoted),
  },
  b: {
    family: 'boolean',
    type: new arrow.Bool(),
    value: (random) => oneIn(random, 2),
    literals: ['true', 'false'],
  },
  d: {
    family: 'date',
    type: new arrow.DateDay(),
    value: (random) => oneOf(random, [0, 1, -1, 18_262, 11_016, 18_321, -25_567]),
    literals: ["date '2020-01-01'", "date '1970-01-01'", "date '2000-02-29'"],
  },
  ts: timestamp(arrow.TimeUnit.SECOND),
  tm: timestamp(arrow.TimeUnit.MILLISECOND),
  tu: timestamp(arrow.TimeUnit.MICROSECOND),
  tn: timestamp(arrow.TimeUnit.NANOSECOND),
  tz: timestamp(arrow.TimeUnit.MICROSECOND, 'Europe/Berlin'),
  dec: {
    family: 'decimal',
    type: new arrow.Decimal(2, 12, 128),
    value: (random) => oneOf(random, [0n, 1n, -1n, 150n, -225n, 9_999_999_999n, 100n]),
    literals: ["cast('1.50' as decimal(12, 2))", "cast('0' as decimal(12, 2))"],
  },
  l: {
    family: 'numbers',
    type: new arrow.List(new arrow.Field('item', new arrow.Int32(), true)),
    value: (random) => Array.from({ length: random(4) }, () => orNull(random, () => random(5))),
    literals: [],
  },
  s: {
    family: 'struct',
    type: inner,
    value: (random) => ({
      a: orNull(random, () => random(7) - 3),
      b: orNull(random, () => oneOf(random, texts)),
    }),
    literals: [],
  },
  bin: {
    family: 'binary',
    type: new arrow.Binary(),
    value: (random) => oneOf(random, ['', '00', 'ff', '61', '6162', '00'.repeat(20)]),
    literals: [],
  },
  tim: {
    family: 'time',
    type: new arrow.TimeMicrosecond(),
    value: (random) => oneOf(random, [0n, 1n, 86_399_999_999n, 43_200_000_000n, 3_723_004_005n]),
    literals: [],
  },
  dur: {
    family: 'duration',
    type: new arrow.DurationMillisecond(),
    value: (random) => oneOf(random, [0n, 1n, -1n, 1000n, -86_400_000n, 10n ** 15n]),
    literals: [],
  },
  lt: {
    family: 'list',
    type: new arrow.List(new arrow.Field('item', new arrow.Utf8(), true)),
    value: (random) =>
      Array.from({ length: random(3) }, () => orNull(random, () => oneOf(random, texts))),
    literals: [],
  },
  // No lists of structs: LanceDB reads a null one as empty, and fails to sort rows that have one.
  k: {
    family: 'map',
    type: new arrow.Map_(new arrow.Field('entries', entries, false), false),
    value: (random) =>
      ['a', 'b', 'ü']
        .filter(() => oneIn(random, 2))
        .map((key) => ({ key, value: orNull(random, () => random(5)) })),
    literals: [],
  },
  v: {
    family: 'vector',
    type: new arrow.FixedSizeList(DIMENSION, new arrow.Field('item', new arrow.Float32(), true)),
    value: (random) =>
      Array.from({ length: DIMENSION }, () => Math.fround(random(2_000_003) / 1e6 - 1)),
    literals: [],
  },
};
