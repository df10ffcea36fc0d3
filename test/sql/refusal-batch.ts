import {
  Binary,
  Bool,
  DateDay,
  Decimal,
  Field,
  FixedSizeList,
  Float64,
  Int32,
  Int64,
  Int8,
  List,
  Map_,
  Struct,
  TimestampMicrosecond,
  Utf8,
} from 'apache-arrow';
import { batchOf, column } from './support.ts';

const item = new Field('item', new Int32(), true);
const entries = new Struct([
  new Field('key', new Utf8(), false),
  new Field('value', new Int32(), true),
]);

/** Two rows of columns of many types, of which the refusals speak. */
export const batch = batchOf({
  n: column(new Int32(), [1, -7]),
  tiny: column(new Int8(), [127, -128]),
  big: column(new Int64(), [2n ** 63n - 1n, -(2n ** 63n)]),
  f: column(new Float64(), [1.5, NaN]),
  t: column(new Utf8(), ['abc', '(']),
  ok: column(new Bool(), [true, false]),
  d: column(new DateDay(), [new Date('2024-02-29'), new Date('1969-12-31')]),
  ts: column(new TimestampMicrosecond(), [0, 1]),
  far: column(new TimestampMicrosecond('Asia/Tokyo'), [0, 1]),
  nowhere: column(new TimestampMicrosecond('Nowhere/Else'), [0, 1]),
  dec: column(new Decimal(2, 10, 128), [Uint32Array.of(150, 0, 0, 0), Uint32Array.of(5, 0, 0, 0)]),
  bin: column(new Binary(), [Buffer.from([97]), Buffer.from([255])]),
  l: column(new List(item), [[1, 2], []]),
  v: column(new FixedSizeList(2, item), [
    [1, 2],
    [3, 4],
  ]),
  s: column(new Struct([new Field('x', new Int32(), true), new Field('y', new Utf8(), true)]), [
    { x: 1, y: 'a' },
    { x: 2, y: 'b' },
  ]),
  m: column(new Map_(new Field('entries', entries, false)), [
    new Map([['a', 1]]),
    new Map([['b', 2]]),
  ]),
});
