import {
  DateDay,
  DurationMillisecond,
  DurationSecond,
  TimestampMicrosecond,
  TimestampMillisecond,
  TimestampSecond,
  Utf8,
} from 'apache-arrow';
import { assert, bigInt, constantFrom, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exactCast } from '../../src/sql/cast/exact-cast.ts';
import { clockOf } from '../../src/sql/values/zone-clock.ts';
import { ask, batchOf, column, constant, refusal, select, typeOf } from './support.ts';

/** Half past midnight in UTC before and after the clocks of Berlin are put forward, and so in autumn. */
const spring = Date.UTC(2020, 2, 29, 0, 30);
const autumn = Date.UTC(2020, 9, 25, 0, 30);
const hour = 3_600_000;
const evening = Date.UTC(2020, 0, 1, 23, 30);
const moments = [spring, spring + hour, autumn, autumn + hour, evening, null];

const batch = batchOf({
  tz: column(new TimestampMillisecond('Europe/Berlin'), moments),
  utc: column(new TimestampSecond('UTC'), moments),
  ts: column(new TimestampMillisecond(), moments),
  d: column(
    new DateDay(),
    moments.map((moment) => (moment === null ? null : new Date(moment))),
  ),
  t: column(new Utf8(), ['2020-07-01 12:00:00', '2020-07-01T12:00:00Z', null, null, null, null]),
});

/** Milliseconds as the moments that they are. */
function at(...values: readonly (number | null)[]): readonly (bigint | null)[] {
  return values.map((value) => (value === null ? null : BigInt(value)));
}

describe('a timestamp with a zone', () => {
  const days = [
    Date.UTC(2020, 2, 28, 23),
    Date.UTC(2020, 2, 28, 23),
    Date.UTC(2020, 9, 24, 22),
    Date.UTC(2020, 9, 24, 22),
    Date.UTC(2020, 0, 1, 23),
    null,
  ];

  it.each([
    ["date_trunc('day', tz)", at(...days)],
    [
      "date_trunc('hour', tz)",
      at(...moments.map((moment) => (moment === null ? null : moment - hour / 2))),
    ],
    ["date_trunc('minute', tz)", at(...moments)],
    [
      "date_trunc('month', tz)",
      at(
        Date.UTC(2020, 1, 29, 23),
        Date.UTC(2020, 1, 29, 23),
        Date.UTC(2020, 8, 30, 22),
        Date.UTC(2020, 8, 30, 22),
        Date.UTC(2019, 11, 31, 23),
        null,
      ),
    ],
    ['cast(tz as timestamp(3))', at(...moments)],
    [
      'to_local_time(tz)',
      at(
        spring + hour,
        spring + 3 * hour,
        autumn + 2 * hour,
        autumn + 2 * hour,
        evening + hour,
        null,
      ),
    ],
    ['cast(tz as date)', [18_350, 18_350, 18_560, 18_560, 18_263, null]],
    ['to_date(tz)', [18_350, 18_350, 18_560, 18_560, 18_263, null]],
    [
      'cast(tz as string)',
      [
        '2020-03-29T01:30:00+01:00',
        '2020-03-29T03:30:00+02:00',
        '2020-10-25T02:30:00+02:00',
        '2020-10-25T02:30:00+01:00',
        '2020-01-02T00:30:00+01:00',
        null,
      ],
    ],
    ['cast(utc as string)', [...moments].map((moment) => isoOf(moment))],
    [
      "to_char(tz, '%H:%M %z %:z %s')",
      moments.map((moment, row) =>
        moment === null
          ? null
          : ['01:30 +0100 +01:00', '03:30 +0200 +02:00', '02:30 +0200 +02:00'][row]! +
            ` ${moment / 1000}`,
      ),
    ],
    ["extract(hour from tz AT TIME ZONE 'Asia/Tokyo')", [9, 10, 9, 10, 8, null]],
    ["extract(hour from ts AT TIME ZONE '+05:30')", [0, 1, 0, 1, 23, null]],
  ])('goes by the clocks of the zone: %s', (text, values) => {
    const known = text.startsWith('to_char') ? 3 : values.length;
    expect(ask(text, batch).slice(0, known)).toEqual(values.slice(0, known));
  });

  function isoOf(moment: number | null): string | null {
    return moment === null ? null : new Date(moment).toISOString().replace('.000Z', 'Z');
  }

  it('keeps its moments in another zone, and makes them of what clocks show', () => {
    expect(typeOf("tz AT TIME ZONE 'Asia/Tokyo'", batch)).toBe(
      'Timestamp<MILLISECOND, Asia/Tokyo>',
    );
    expect(ask("tz AT TIME ZONE 'Asia/Tokyo'", batch)).toEqual(at(...moments));
    expect(ask("ts AT TIME ZONE 'Asia/Tokyo'", batch)[4]).toBe(BigInt(evening - 9 * hour));
    expect(ask("d AT TIME ZONE 'Asia/Tokyo'", batch)[4]).toBe(
      BigInt(Date.UTC(2019, 11, 31, 15) / 1000),
    );
    expect(ask('arrow_cast(t, \'Timestamp(s, "Asia/Tokyo")\')', batch).slice(0, 2)).toEqual([
      BigInt(Date.UTC(2020, 6, 1, 3) / 1000),
      BigInt(Date.UTC(2020, 6, 1, 12) / 1000),
    ]);
  });

  it('compares with what clocks show, with days of UTC and with moments of other zones', () => {
    expect(select("tz = timestamp '2020-01-02 00:30:00'", batch)).toEqual([4]);
    expect(select("tz = '2020-01-02 00:30:00'", batch)).toEqual([4]);
    expect(select("tz = '2020-01-01T23:30:00Z'", batch)).toEqual([4]);
    expect(select("tz in (timestamp '2020-01-02 00:30:00')", batch)).toEqual([4]);
    expect(select('tz = utc', batch)).toEqual([0, 1, 2, 3, 4]);
    expect(select('tz > d', batch)).toEqual([0, 1, 2, 3, 4]);
    expect(select("tz = ts AT TIME ZONE 'UTC'", batch)).toEqual([0, 1, 2, 3, 4]);
  });

  it('says which time is left out or shown twice', () => {
    expect(
      refusal("timestamp '2020-03-29 02:30:00' AT TIME ZONE 'Europe/Berlin' = tz", batch),
    ).toContain(
      'expected a value that timestamp(us, Europe/Berlin) can hold, found 2020-03-29T02:30:00',
    );
    expect(refusal("tz = '2020-10-25 02:30:00'", batch)).toBe(
      "value: expected a time that its clocks show once for timestamp(ms, Europe/Berlin), found '2020-10-25 02:30:00', at position 6",
    );
    expect(ask('try_cast(t as timestamptz)', batch)[0]).toBe(
      BigInt(Date.UTC(2020, 6, 1, 12)) * 1000n,
    );
  });

  it('is moved by days of its clocks and by hours of all clocks', () => {
    const day = 24 * hour;
    expect(ask("tz + interval '1 day'", batch)).toEqual(
      at(
        spring + 23 * hour,
        spring + hour + day,
        autumn + day + hour,
        autumn + hour + day,
        evening + day,
        null,
      ),
    );
    expect(ask("tz + interval '24 hours'", batch)).toEqual(
      at(...moments.map((moment) => (moment === null ? null : moment + day))),
    );
    // 02:30 of the day before is left out on the day.
    const before = batchOf({
      tz: column(new TimestampMillisecond('Europe/Berlin'), [Date.UTC(2020, 2, 28, 1, 30)]),
    });
    expect(ask("cast(tz + interval '1 day' as string)", before)).toEqual([
      '2020-03-29T03:30:00+02:00',
    ]);
  });

  it('begins its days where midnight is left out', () => {
    const brazil = batchOf({
      tz: column(new TimestampSecond('America/Sao_Paulo'), [Date.UTC(2018, 10, 4, 12)]),
    });
    expect(ask("cast(date_trunc('day', tz) as string)", brazil)).toEqual([
      '2018-11-04T01:00:00-02:00',
    ]);
  });

  it('loses no value where a column gets a zone', () => {
    const plain = column(new TimestampMicrosecond(), [evening, null]).data[0]!;
    const zoned = exactCast(plain, new TimestampMicrosecond('Europe/Berlin'));
    expect(zoned.kind === 'values' && zoned.data.values[0]).toBe(BigInt(evening - hour) * 1000n);
    const back = zoned.kind === 'values' ? exactCast(zoned.data, new TimestampMicrosecond()) : null;
    expect(back?.kind === 'values' && back.data.values[0]).toBe(BigInt(evening - hour) * 1000n);
    const gap = column(new TimestampMicrosecond(), [Date.UTC(2020, 2, 29, 2, 30)]).data[0]!;
    expect(exactCast(gap, new TimestampMicrosecond('Europe/Berlin'))).toEqual({
      kind: 'lost',
      value: '2020-03-29T02:30:00',
    });
  });
});

describe('clocks of a zone', () => {
  const zones = ['Europe/Berlin', 'America/Sao_Paulo', 'Australia/Lord_Howe', 'Pacific/Apia'];
  const limit = 4_000_000_000n * 1_000_000_000n;

  it('give a moment back from what they show, unless they show it twice', () => {
    assert(
      property(constantFrom(...zones), bigInt({ min: -limit / 2n, max: limit }), (zone, moment) => {
        const clock = clockOf(new TimestampMicrosecond(zone))!;
        const local = clock.local(moment);
        expect([moment, undefined]).toContain(clock.moment(local));
        expect(clock.nearest(local, moment)).toBe(moment);
      }),
    );
  });
});

describe('a duration', () => {
  const spans = batchOf({
    d: column(new DurationMillisecond(), [-90_061_001n, 3_599_999n, 0n, null]),
    s: column(new DurationSecond(), [-86_399n, 60n, 0n, null]),
    far: column(new DurationSecond(), [2n ** 40n, 0n, 0n, null]),
  });

  it.each([
    ['extract(day from d)', [-1, 0, 0, null]],
    ['extract(hour from d)', [-25, 0, 0, null]],
    ["date_part('minute', d)", [-1501, 59, 0, null]],
    ["date_part('epoch', d)", [-90_061.001, 3599.999, 0, null]],
    [
      'cast(d as string)',
      [
        '-1 days -1 hours -1 mins -1.001 secs',
        '0 days 0 hours 59 mins 59.999 secs',
        '0 days 0 hours 0 mins 0.000 secs',
        null,
      ],
    ],
    [
      'cast(s as string)',
      [
        '0 days -23 hours -59 mins -59 secs',
        '0 days 0 hours 1 mins 0 secs',
        '0 days 0 hours 0 mins 0 secs',
        null,
      ],
    ],
  ])('%s', (text, values) => {
    expect(ask(text, spans)).toEqual(values);
  });

  it('has no months, and no more of a part than an int32 holds', () => {
    expect(refusal("date_part('month', d)", spans)).toBe(
      "type: expected a date or timestamp that has the part month as argument 2 of date_part('part', value), found duration(ms), at position 20",
    );
    expect(refusal("date_part('second', far)", spans)).toBe(
      'overflow: expected a part within int32 from date_part, found 1099511627776, at position 1',
    );
  });
});

describe('age', () => {
  it('is the time between two moments', () => {
    expect(
      constant("age(timestamp '2020-01-03 12:00:00', date '2020-01-01') = interval '60 hours'"),
    ).toBe(true);
    expect(constant("age(date '2020-01-01', date '2020-01-02') = interval '-1 day'")).toBe(true);
    expect(typeOf('age(tz)', batch)).toBe('Duration<MILLISECOND>');
    expect(constant("age(current_date) = interval '0 days'")).toBe(true);
    expect(constant('age(null)')).toBe(null);
    expect(select("now() - ts > interval '1 day'", batch)).toEqual([0, 1, 2, 3, 4]);
  });
});
