import {
  Bool,
  DateDay,
  DateMillisecond,
  Field,
  Float16,
  Float32,
  Float64,
  Int16,
  Int64,
  LargeUtf8,
  List,
  TimeMicrosecond,
  TimeSecond,
  TimestampMicrosecond,
  TimestampMillisecond,
  TimestampNanosecond,
  TimestampSecond,
  Uint64,
  Uint8,
  Utf8,
  tableFromIPC,
  vectorFromArray,
  type DataType,
} from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freshEngine, type TestEngine } from '../../support/engine.ts';
import { streamOf } from '../../support/engine-table.ts';
import { buildIndex, posting } from '../../support/indices.ts';
import { bytesOf } from '../../support/query-answer.ts';
import { ask } from '../../support/request.ts';

/* Of each type of keys an index finds what a scan of the same rows does, over several pages. */

let engine: TestEngine;
const faults: unknown[] = [];

beforeAll(async () => {
  engine = await freshEngine({ arrowBody: 2 ** 23 });
  engine.startWork((error) => faults.push(error));
  for (const table of ['indexed', 'plain']) {
    const line = `POST /v1/table/${table}/create`;
    const made = Object.entries(columns).map(([name, { type, of }]) => {
      const values = Array.from({ length: ROWS }, (_, row) => of(mixed(row)));
      return [name, vectorFromArray(values, type)] as const;
    });
    await ask(engine.backend, line, { body: streamOf(Object.fromEntries(made)) });
    await posting(engine.backend)(table, 'delete', { predicate: 'n in (3, 70, 71) or i = 40' });
  }
  for (const [column, { index }] of Object.entries(columns)) {
    if (index === undefined) continue;
    const built = await buildIndex(engine.backend, 'indexed', { column, index_type: index });
    expect(built, column).toMatchObject({ status: 'SUCCEEDED' });
  }
});

afterAll(async () => {
  await engine.close();
  expect(faults).toEqual([]);
});

const ROWS = 9000;
/** The rows' numbers in no order. */
const mixed = (row: number): number => (row * 7919) % ROWS;

const starts = [
  '',
  'a',
  'Z',
  '\u00e9',
  '\ud7ff',
  '\ue000',
  '\ufb01',
  '\uffee',
  '😀',
  '\u{10ffff}',
  '%',
  '_',
  '\\',
];
const text = (row: number): string => `${starts[row % 13]}${row % 2000}${starts[row % 7]}`;
const floats = [0, -0, NaN, Infinity, -Infinity, 0.1, -0.1];
const number = (row: number): number => (row % 3 === 0 ? floats[row % 7]! : (row - 4500) / 8);
const items = (type: DataType) => new List(new Field('item', type, true));
const orNull =
  (of: (row: number) => unknown) =>
  (row: number): unknown =>
    row % 17 === 4 ? null : of(row);

interface Column {
  readonly type: DataType;
  readonly index?: string;
  readonly of: (row: number) => unknown;
}

const columns: Readonly<Record<string, Column>> = {
  n: { type: new Int64(), of: (row) => BigInt(row) },
  i: { type: new Int64(), index: 'BTREE', of: orNull((row) => 2n ** 62n + BigInt(row >> 1)) },
  u: { type: new Uint64(), index: 'BTREE', of: orNull((row) => 2n ** 64n - 1n - BigInt(row)) },
  small: { type: new Uint8(), index: 'BTREE', of: orNull((row) => row % 256) },
  short: { type: new Int16(), index: 'BITMAP', of: orNull((row) => (row % 300) - 150) },
  half: { type: new Float16(), index: 'BTREE', of: orNull((row) => number(row)) },
  single: { type: new Float32(), index: 'BTREE', of: orNull(number) },
  double: { type: new Float64(), index: 'BITMAP', of: orNull(number) },
  s: { type: new Utf8(), index: 'BTREE', of: orNull(text) },
  large: { type: new LargeUtf8(), index: 'BTREE', of: orNull(text) },
  word: { type: new Utf8(), index: 'BITMAP', of: orNull(text) },
  b: { type: new Bool(), index: 'BTREE', of: orNull((row) => row % 3 === 0) },
  day: { type: new DateDay(), index: 'BTREE', of: orNull((row) => (row - 4000) * 86_400_000) },
  date: { type: new DateMillisecond(), index: 'BTREE', of: orNull((row) => row * 86_400_000) },
  ts: { type: new TimestampSecond(), index: 'BTREE', of: orNull((row) => (row - 4000) * 1000) },
  ms: { type: new TimestampMillisecond(), index: 'BTREE', of: orNull((row) => row - 4000) },
  us: { type: new TimestampMicrosecond(), index: 'BTREE', of: orNull((row) => row - 4000) },
  ns: { type: new TimestampNanosecond('UTC'), index: 'BITMAP', of: orNull((row) => row % 500) },
  tick: { type: new TimeSecond(), index: 'BTREE', of: orNull((row) => row) },
  tock: { type: new TimeMicrosecond(), index: 'BITMAP', of: orNull((row) => BigInt(row % 90)) },
  tags: {
    type: items(new Utf8()),
    index: 'LABEL_LIST',
    of: orNull((row) =>
      Array.from({ length: row % 4 }, (_, at) => (at === 2 ? null : starts[(row + at) % 13])),
    ),
  },
  nums: {
    type: items(new Float64()),
    index: 'LABEL_LIST',
    of: orNull((row) => Array.from({ length: row % 3 }, (_, at) => number(row + at))),
  },
};

const texts = (name: string) => [
  ...starts.map((start) => `${name} like '${start.replaceAll(/[%_\\]/g, '\\$&')}7%'`),
  ...['\ue000', '😀', '\u{10ffff}', '\\', ''].flatMap((start) => [
    `${name} >= '${start}1' and ${name} < '${start}13'`,
    `${name} > '${start}9'`,
    `${name} < '${start}1'`,
    `${name} = '${start}13${start}'`,
  ]),
  `${name} like '!%1%' escape '!'`,
  `${name} like '!_!%%' escape '!'`,
  `${name} like '\\\\%'`,
  `${name} like '%'`,
  `${name} like ''`,
  `${name} like 'a1_'`,
  `${name} not like 'a%'`,
  `${name} ilike 'z11%'`,
  `${name} in ('a1a', '😀8', '', null)`,
  `${name} is null`,
  `${name} = ''`,
];

const numbers = (name: string) => [
  ...['0', '-0.0', '0.1', '-0.1', '3', '3.125', "cast('inf' as double)"].flatMap((value) => [
    `${name} = ${value}`,
    `${name} > ${value}`,
    `${name} <= ${value}`,
    `${name} in (${value}, 7)`,
  ]),
  `${name} = cast('nan' as double)`,
  `${name} >= cast('nan' as double)`,
  `${name} < cast('nan' as double)`,
  `${name} in (cast('nan' as double))`,
  `${name} is null`,
  `${name} is not null`,
  `${name} != 0`,
  `${name} is distinct from cast('nan' as double)`,
];

const moments = (name: string, near: string) => [
  `${name} = timestamp '${near}'`,
  `${name} > timestamp '${near}'`,
  `${name} between timestamp '1969-12-31 23:59:58' and timestamp '${near}'`,
  `${name} in (timestamp '${near}', timestamp '1970-01-01 00:00:00')`,
  `${name} = '${near}'`,
  `${name} < date '1970-01-01'`,
  `${name} is null`,
];

const predicates = [
  ...[
    '4611686018427387904',
    '4611686018427388000',
    '4611686018427392403',
    '9223372036854775807',
    '5.0e18',
  ].flatMap((value) => [
    `i = ${value}`,
    `i > ${value}`,
    `i <= ${value}`,
    `i in (${value}, 4611686018427387905)`,
  ]),
  ...['18446744073709551615', '18446744073709551000', '9223372036854775808', '-1'].flatMap(
    (value) => [`u = ${value}`, `u >= ${value}`, `u in (${value}, 1)`],
  ),
  'i is null',
  'i + 1 = 4611686018427388001',
  'small = 255',
  'small > 250 or small is null',
  'small = 300',
  'short < -145',
  'short = 2.5',
  'b',
  'b is null',
  'b = false and n < 40',
  ...numbers('half'),
  ...numbers('single'),
  ...numbers('double'),
  ...texts('s'),
  ...texts('large'),
  ...texts('word'),
  "day = date '1970-01-05'",
  "day < date '1960-01-01'",
  "date = date '1980-01-05'",
  "date > timestamp '1990-01-05 12:00:00'",
  ...moments('ts', '1970-01-01 00:00:09'),
  ...moments('ms', '1970-01-01 00:00:00.009'),
  ...moments('us', '1970-01-01 00:00:00.000009'),
  "ns = timestamp '1970-01-01 00:00:00.000000009'",
  "tick = time '00:10:00'",
  "tick > time '02:00:00'",
  "tock < time '00:00:00.000004'",
  ...starts.map((start) => `array_has(tags, '${start}')`),
  "array_has_any(tags, ['a', '😀'])",
  "array_has_any(tags, ['a', null])",
  'array_has_any(tags, [null])',
  "array_has_all(tags, ['a', 'Z'])",
  "array_has_all(tags, ['a', null])",
  "array_has(array_append(tags, 'q'), 'q')",
  "array_has(array_append(tags, 'q'), 'a')",
  "array_has(array_slice(tags, 1, 1), 'Z')",
  "array_has(array_remove(tags, 'a'), 'Z')",
  "array_has(coalesce(tags, ['q']), 'q')",
  "array_has(coalesce(tags, ['q']), 'a')",
  "array_has_any(array_concat(tags, ['q']), ['q'])",
  'array_has(nums, 0)',
  'array_has(nums, -0.0)',
  "array_has(nums, cast('nan' as double))",
  'array_has_all(nums, [0, 0.1])',
  'array_has_any(nums, [3.125, 0.1])',
  'cardinality(tags) = 0',
  "tags is null or array_has(tags, 'a')",
];

async function answer(table: string, filter: string): Promise<string> {
  const body = { vector: [], k: ROWS, columns: ['n'], filter };
  return ask(engine.backend, `POST /v1/table/${table}/query`, { body }).then(
    async (sent) =>
      tableFromIPC(await bytesOf(sent.body))
        .getChild('n')!
        .toArray()
        .join(),
    (error: Error) => error.message,
  );
}

describe('an index', () => {
  it('finds what a scan does, whatever the type of its keys', async () => {
    const wrong: string[] = [];
    for (const filter of predicates) {
      const [found, right] = [await answer('indexed', filter), await answer('plain', filter)];
      if (found !== right) wrong.push(`${filter}: ${found.slice(0, 60)} / ${right.slice(0, 60)}`);
    }
    expect(wrong).toEqual([]);
    expect(engine.readings()!.lookups).toBeGreaterThan(predicates.length / 2);
  });
});
