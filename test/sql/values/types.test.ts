import {
  Binary,
  BinaryView,
  Bool,
  DateMillisecond,
  Decimal,
  Dictionary,
  DurationNanosecond,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float16,
  Float32,
  Int16,
  Int32,
  Int64,
  LargeBinary,
  LargeList,
  LargeUtf8,
  List,
  makeData,
  Map_,
  Null,
  RecordBatch,
  Schema,
  Struct,
  TimeMicrosecond,
  TimeSecond,
  TimestampNanosecond,
  TimestampSecond,
  Utf8,
  Utf8View,
  Vector,
  vectorFromArray,
  type DataType,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { bindExpression } from '../../../src/sql/bind.ts';
import { evaluate } from '../../../src/sql/evaluate.ts';
import { parseExpression } from '../../../src/sql/parse.ts';
import { ask, batchOf, column, refusal, select, typeOf } from '../support.ts';

const long = 'a text of more than twelve bytes';
const texts = ['ab', long, '', null, 'ä'];
const bytes = texts.map((text) => (text === null ? null : new TextEncoder().encode(text)));

/** Largest offsets are those of the buffers, so rows are cut from the middle of longer ones. */
function sliced(type: DataType, values: readonly unknown[], filler: unknown): Vector {
  const whole = vectorFromArray([filler, filler, filler, ...values, filler], type);
  return whole.slice(3, 3 + values.length);
}

describe.each<[string, (type: DataType, values: readonly unknown[], filler: unknown) => Vector]>([
  ['whole', (type, values) => column(type, values)],
  ['sliced', sliced],
])('texts and binaries, %s', (_, make) => {
  it.each<[string, DataType]>([
    ['utf8', new Utf8()],
    ['large_utf8', new LargeUtf8()],
    ['dictionary', new Dictionary(new Utf8(), new Int16())],
    ['dictionary of large texts', new Dictionary(new LargeUtf8(), new Int32())],
  ])('%s', (_name, type) => {
    const batch = batchOf({ s: make(type, texts, 'zz') });
    expect(select("s = 'ab'", batch)).toEqual([0]);
    expect(select(`s = '${long}'`, batch)).toEqual([1]);
    expect(select("s < 'b'", batch)).toEqual([0, 1, 2]);
    expect(select("s like 'a%'", batch)).toEqual([0, 1]);
    expect(select("s in ('ä', 'zz')", batch)).toEqual([4]);
    expect(select('s is null', batch)).toEqual([3]);
    expect(select("coalesce(s, 'none') = 'none'", batch)).toEqual([3]);
    expect(select('s = s', batch)).toEqual([0, 1, 2, 4]);
    expect(ask('length(s)', batch)).toEqual([2, 32, 0, null, 1]);
    expect(ask('upper(s)', batch)).toEqual(['AB', long.toUpperCase(), '', null, 'Ä']);
    expect(ask("case when length(s) = 2 then s else 'no' end", batch)).toEqual([
      'ab',
      'no',
      'no',
      'no',
      'no',
    ]);
    expect(ask('s', batch)).toEqual(texts);
    expect(typeOf('s', batch)).toBe(String(batch.schema.fields[0]!.type));
  });

  it.each<[string, DataType]>([
    ['binary', new Binary()],
    ['large_binary', new LargeBinary()],
  ])('%s', (_name, type) => {
    const batch = batchOf({ x: make(type, bytes, Uint8Array.of(9)) });
    expect(select("x = X'6162'", batch)).toEqual([0]);
    expect(select("x > X'61'", batch)).toEqual([0, 1, 4]);
    expect(select("x in (X'', X'c3a4')", batch)).toEqual([2, 4]);
    expect(ask('cast(x as string)', batch)).toEqual(texts);
    expect(ask('coalesce(x, x)', batch)).toEqual(bytes);
  });
});

/** Views as the Arrow format lays them out ("Variable-size Binary View Layout"). */
function viewParts(): { readonly length: number; readonly views: Uint8Array } {
  const layout = new Uint8Array(bytes.length * 16);
  const fields = new DataView(layout.buffer);
  bytes.forEach((value, row) => {
    const size = value?.length ?? 0;
    fields.setInt32(row * 16, size, true);
    layout.set((value ?? new Uint8Array()).subarray(0, size > 12 ? 4 : 12), row * 16 + 4);
    fields.setInt32(row * 16 + 12, size > 12 ? 2 : fields.getInt32(row * 16 + 12, true), true);
  });
  return { length: bytes.length, views: layout };
}

const far = new TextEncoder().encode(`..${long}`);
const viewNulls = { nullBitmap: Uint8Array.of(0b10111), nullCount: 1, variadicBuffers: [far] };

describe('views', () => {
  it('utf8', () => {
    const batch = batchOf({
      s: new Vector([makeData({ type: new Utf8View(), ...viewParts(), ...viewNulls })]),
    });
    expect(select(`s in ('${long}', 'ä')`, batch)).toEqual([1, 4]);
    expect(ask('s', batch)).toEqual(texts);
    expect(ask("coalesce(s, 'none')", batch)).toEqual(['ab', long, '', 'none', 'ä']);
    expect(ask('coalesce(s, s)', batch)).toEqual(texts);
    expect(typeOf('coalesce(s, s)', batch)).toBe('Utf8View');
    const rest = new RecordBatch(batch.schema, batch.data.slice(1, 4));
    expect(ask('s || s', rest)).toEqual([long + long, '', null, 'ää']);
  });

  it('binary', () => {
    const batch = batchOf({
      x: new Vector([makeData({ type: new BinaryView(), ...viewParts(), ...viewNulls })]),
    });
    expect(select("x = X'6162'", batch)).toEqual([0]);
    expect(ask('coalesce(x, x)', batch)).toEqual(bytes);
  });
});

describe('other types', () => {
  it('bool, sliced at any bit', () => {
    const values = Array.from({ length: 40 }, (_, row) => (row % 5 === 0 ? null : row % 3 === 0));
    const whole = batchOf({ b: column(new Bool(), values) });
    for (const from of [0, 1, 7, 8, 13]) {
      const batch = new RecordBatch(whole.schema, whole.data.slice(from, 20));
      const rows = values.slice(from, from + 20);
      expect(ask('b or b', batch)).toEqual(rows);
      expect(select('b', batch)).toEqual(
        rows.flatMap((value, row) => (value === true ? [row] : [])),
      );
    }
  });

  it('half floats', () => {
    const bits = Uint16Array.of(0x3c00, 0xbc00, 0x7c00, 0x7e00, 0x0001, 0x2e66, 0x8000);
    const batch = batchOf({
      h: new Vector([makeData({ type: new Float16(), data: bits, length: 7 })]),
    });
    expect(ask('h * 1', batch)).toEqual([1, -1, Infinity, NaN, 2 ** -24, 0.0999755859375, -0]);
    expect(typeOf('h + h', batch)).toBe('Float32');
    expect(typeOf('h', batch)).toBe('Float16');
    expect(select('h > 0', batch)).toEqual([0, 2, 3, 4, 5]);
    expect(select('h = 0', batch)).toEqual([6]);
  });

  it('dates, times and durations of every unit', () => {
    const batch = batchOf({
      d64: column(new DateMillisecond(), [new Date('2024-02-29'), null]),
      secs: column(new TimeSecond(), [3661, null]),
      micros: column(new TimeMicrosecond(), [3_661_000_001n, null]),
      stamp: column(new TimestampSecond('UTC'), [1_709_164_800_000, null]),
      nanos: new Vector([
        makeData({
          type: new TimestampNanosecond(),
          data: BigInt64Array.of(-(2n ** 63n), 0n),
          length: 2,
        }),
      ]),
      span: column(new DurationNanosecond(), [2n ** 62n, null]),
    });
    expect(select("d64 = '2024-02-29'", batch)).toEqual([0]);
    expect(select("d64 < date '2024-03-01' and secs = '01:01:01'", batch)).toEqual([0]);
    expect(select('micros > secs', batch)).toEqual([0]);
    expect(select("stamp = '2024-02-29T02:00:00+02:00' and stamp = d64", batch)).toEqual([0]);
    expect(select("nanos < '1677-09-21 00:12:43.145224193'", batch)).toEqual([0]);
    expect(select("nanos = '1677-09-21 00:12:43.145224192'", batch)).toEqual([0]);
    expect(select("nanos < timestamp '9999-12-31'", batch)).toEqual([0, 1]);
    expect(select('nanos > stamp', batch)).toEqual([]);
    expect(select('span > span - span', batch)).toEqual([0]);
    expect(ask('cast(span as bigint)', batch)).toEqual([2n ** 62n, null]);
  });

  it('decimals of 128 and 256 bits', () => {
    const small = new Decimal(3, 30, 128);
    const wide = new Decimal(0, 60, 256);
    const words = (value: bigint, count: number): Uint32Array =>
      Uint32Array.from({ length: count }, (_, word) =>
        Number((BigInt.asUintN(count * 32, value) >> BigInt(word * 32)) & 0xffffffffn),
      );
    const batch = batchOf({
      p: column(small, [words(-1500n, 4), words(10n ** 29n, 4), null]),
      w: column(wide, [words(-(10n ** 50n), 8), words(10n ** 26n, 8), null]),
    });
    expect(select('p = -1.5', batch)).toEqual([0]);
    expect(select('p > w', batch)).toEqual([0]);
    expect(select('p = w', batch)).toEqual([1]);
    expect(select('w < -99999999999999999999999999999999999999', batch)).toEqual([0]);
    expect(ask('coalesce(w, w)', batch)).toEqual([String(-(10n ** 50n)), String(10n ** 26n), null]);
    expect(refusal('p * p * p * p * p * p * p * p * p * p * p * p * p', batch)).toMatch(
      /^type: expected operands that \* is defined for/,
    );
    expect(refusal('p * p', batch)).toBe(
      `overflow: expected a result within decimal(38, 6), found ${10n ** 29n} * ${10n ** 29n}, at position 3`,
    );
  });

  it('binaries of fixed size', () => {
    const batch = batchOf({
      x: column(new FixedSizeBinary(2), [Uint8Array.of(1, 2), null, Uint8Array.of(3, 4)]),
    });
    expect(select("x = X'0304'", batch)).toEqual([2]);
    expect(ask('coalesce(x, x)', batch)).toEqual([Uint8Array.of(1, 2), null, Uint8Array.of(3, 4)]);
    expect(ask("coalesce(x, X'09')", batch)).toEqual([
      Uint8Array.of(1, 2),
      Uint8Array.of(9),
      Uint8Array.of(3, 4),
    ]);
  });

  it('nulls of no type', () => {
    const batch = batchOf({
      n: new Vector([makeData({ type: new Null(), length: 2 })]),
      b: column(new Bool(), [true, null]),
    });
    expect(ask('n is null', batch)).toEqual([true, true]);
    expect(ask('n = 5', batch)).toEqual([null, null]);
    expect(ask('n and b', batch)).toEqual([null, null]);
    expect(ask('coalesce(n, 5)', batch)).toEqual([5n, 5n]);
    expect(ask('n in (1, 2)', batch)).toEqual([null, null]);
    expect(ask('cast(n as string)', batch)).toEqual([null, null]);
    expect(select('n', batch)).toEqual([]);
  });

  it('lists of all three kinds', () => {
    const item = new Field('item', new Int32(), true);
    const values = [[1, null], null, [3, 4]];
    for (const type of [new List(item), new LargeList(item), new FixedSizeList(2, item)]) {
      for (const vector of [column(type, values), sliced(type, values, [7, 7])]) {
        const batch = batchOf({ l: vector });
        expect(ask('array_length(l)', batch)).toEqual([2n, null, 2n]);
        expect(ask('array_has(l, 4)', batch)).toEqual([false, null, true]);
        expect(ask('l[2]', batch)).toEqual([null, null, 4]);
        expect(ask('coalesce(l, l)', batch)).toEqual(values);
        expect(typeOf('coalesce(l, l)', batch)).toBe(String(type));
      }
    }
  });

  it('lists of dictionaries and half floats', () => {
    const words = new Field('item', new Dictionary(new Utf8(), new Int32()), true);
    const batch = batchOf({ l: column(new List(words), [['a', 'b'], null, ['b']]) });
    expect(ask("array_has(l, 'b')", batch)).toEqual([true, null, true]);
    expect(typeOf("coalesce(l, ['z'])", batch)).toBe('List<Utf8>');
    expect(ask("coalesce(l, ['z'])", batch)).toEqual([['a', 'b'], ['z'], ['b']]);
    expect(typeOf('l', batch)).toBe('List<Dictionary<Int32, Utf8>>');
  });
});

describe('structs', () => {
  const inner = new Struct([new Field('c', new Utf8(), true), new Field('n.1', new Int64(), true)]);
  const type = new Struct([
    new Field('A', new Int64(), true),
    new Field('b', inner, true),
    new Field('w', new Dictionary(new Utf8(), new Int32()), true),
  ]);
  const rows = [
    { A: 1n, b: { c: 'x', 'n.1': 10n }, w: 'p' },
    { A: null, b: null, w: 'q' },
    null,
    { A: 4n, b: { c: null, 'n.1': 40n }, w: 'p' },
  ];
  const batch = batchOf({ st: column(type, rows), k: column(new Int32(), [1, 2, 3, 4]) });

  it.each([
    ['st.A', [1n, null, null, 4n]],
    ['st.a', [1n, null, null, 4n]],
    ["st['A'] + 1", [2n, null, null, 5n]],
    ['st.b.c', ['x', null, null, null]],
    ['st.b.`n.1`', [10n, null, null, 40n]],
    ["upper(st.b['c'])", ['X', null, null, null]],
    ['st.w', ['p', 'q', null, 'p']],
    ["st.w = 'p'", [true, false, null, true]],
    ['st is null', [false, false, true, false]],
    ['st.b is null', [false, true, true, false]],
    ['case when k > 1 then st.A else -1 end', [-1n, null, null, 4n]],
    ['k > 3 and st.b.`n.1` / (k - 1) = 13', [false, false, false, true]],
  ])('%s', (text, values) => {
    expect(ask(text, batch)).toEqual(values);
  });

  it('a struct in a struct keeps its type and shows the nulls of both', () => {
    const vector = evaluate(bindExpression(parseExpression('st.b'), batch.schema), batch);
    expect(String(vector.type)).toBe(String(inner));
    expect(Array.from({ length: 4 }, (_, row) => vector.isValid(row))).toEqual([
      true,
      false,
      false,
      true,
    ]);
    const rest = new RecordBatch(batch.schema, batch.data.slice(1, 3));
    expect(ask('st.A', rest)).toEqual([null, null, 4n]);
    expect(ask('st.b.c is null', rest)).toEqual([true, true, true]);
  });

  it('a list of structs gives its elements and their fields', () => {
    const list = new List(new Field('item', new Struct([new Field('x', new Int32(), true)]), true));
    const nested = batchOf({ l: column(list, [[{ x: 1 }, { x: 2 }], [], null, [null]]) });
    expect(ask('l[1].x', nested)).toEqual([1, null, null, null]);
    expect(ask("l[2]['x'] = 2", nested)).toEqual([true, null, null, null]);
    expect(ask('l[1] is null', nested)).toEqual([false, true, true, true]);
    expect(ask('array_length(l)', nested)).toEqual([2n, 0n, null, 1n]);
    expect(ask('l[1]', nested).map(String)).toEqual(['{"x": 1}', 'null', 'null', 'null']);
    expect(ask('coalesce(l, [l[1]])[2].x', nested)).toEqual([2, null, null, null]);
  });

  it('maps compare with maps', () => {
    const entries = new Struct([
      new Field('key', new Utf8(), false),
      new Field('value', new Int32(), true),
    ]);
    const map = batchOf({
      m: column(new Map_(new Field('entries', entries, false)), [new Map([['a', 1]]), null]),
    });
    expect(ask('m is not null', map)).toEqual([true, false]);
    expect(typeOf('m', map)).toBe(String(map.schema.fields[0]!.type));
    expect(ask('m = m', map)).toEqual([true, null]);
    expect(refusal("st['zz']", batch)).toBe(
      'unknown-column: expected the name of a field, found zz; the nearest are A, b, w, at position 3',
    );
    expect(refusal('st[1]', batch)).toBe(
      'type: expected the name of a field in quotes, found int64, at position 3',
    );
    expect(refusal('k.x', batch)).toBe(
      'type: expected a struct before .x, found int32, at position 1',
    );
  });
});

describe('the batch', () => {
  it('needs only the columns that are used, in any order', () => {
    const full = batchOf({
      a: column(new Int32(), [1, 2]),
      b: column(new Utf8(), ['x', 'y']),
      c: column(new Float32(), [1, 2]),
    });
    const bound = bindExpression(parseExpression('c > 1 and a = 2'), full.schema);
    const part = batchOf({ c: column(new Float32(), [1, 2]), a: column(new Int32(), [1, 2]) });
    expect(Array.from(evaluate(bound, part))).toEqual([false, true]);
  });

  it('may have no columns and no rows', () => {
    const empty = new RecordBatch(
      new Schema([]),
      makeData({ type: new Struct([]), length: 3, children: [] }),
    );
    expect(ask('1 + 1', empty)).toEqual([2n, 2n, 2n]);
    expect(select('1 = 1', empty)).toEqual([0, 1, 2]);
    const none = batchOf({ a: column(new Int32(), []), s: column(new Utf8(), []) });
    expect(ask("a / 0 = 1 or s like '%a%' or lower(s) = s", none)).toEqual([]);
    expect(ask("case when a > 1 then s else s || 'x' end", none)).toEqual([]);
  });

  it('hands out a column as it is', () => {
    const full = batchOf({ a: column(new Int32(), [1, 2]) });
    const vector = evaluate(bindExpression(parseExpression('a'), full.schema), full);
    expect(vector.data[0]).toBe(full.data.children[0]);
  });
});
