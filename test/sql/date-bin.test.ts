import { DateDay, Int64, TimestampMicrosecond, TimestampSecond } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { ask, batchOf, column, refusal, typeOf } from './support.ts';

const batch = batchOf({
  ts: column(new TimestampMicrosecond(), [Date.UTC(2024, 4, 5, 10, 11, 12), 1, -1, null]),
  d: column(new DateDay(), [
    new Date('2024-02-29'),
    new Date('1970-01-01'),
    new Date('1969-12-31'),
    null,
  ]),
  far: column(new TimestampSecond('Asia/Tokyo'), [0, 1000, 2000, null]),
  n: column(new Int64(), [1n, 2n, 3n, null]),
});

describe('date_bin', () => {
  it.each([
    [
      "date_bin(interval '5 minutes', ts)",
      'Timestamp<MICROSECOND>',
      [1_714_903_800_000_000n, 0n, -300_000_000n, null],
    ],
    [
      "date_bin(interval '5 minutes', ts, timestamp '2024-01-01 00:02:00')",
      'Timestamp<MICROSECOND>',
      [1_714_903_620_000_000n, -180_000_000n, -180_000_000n, null],
    ],
    [
      "date_bin(interval '2 days', d)",
      'Timestamp<NANOSECOND>',
      [1_709_164_800_000_000_000n, 0n, -172_800_000_000_000n, null],
    ],
    ["date_bin(interval '1 hour', ts, null)", 'Timestamp<MICROSECOND>', [null, null, null, null]],
    ["date_bin(interval '1 hour', null)", 'Timestamp<NANOSECOND>', [null, null, null, null]],
  ])('%s', (text, type, values) => {
    expect(typeOf(text, batch)).toBe(type);
    expect(ask(text, batch)).toEqual(values);
  });

  it.each([
    [
      "date_bin(interval '1 month', ts)",
      'value: expected a bin of days and times above 0 in date_bin, found 1 month, at position 10',
    ],
    [
      "date_bin(interval '0 days', ts)",
      'value: expected a bin of days and times above 0 in date_bin, found 0 ns, at position 10',
    ],
    [
      'date_bin(5, ts)',
      "type: expected an interval such as '1 day' as argument 1 of date_bin(interval, value[, origin]), found int64, at position 10",
    ],
    [
      "date_bin(interval '1 day', n)",
      'type: expected a date or timestamp as argument 2 of date_bin(interval, value[, origin]), found int64, at position 28',
    ],
    [
      "date_bin(interval '1 day')",
      'type: expected date_bin(interval, value[, origin]), found 1 argument, at position 1',
    ],
  ])('%s is refused', (text, message) => {
    expect(refusal(text, batch)).toBe(message);
  });

  it('takes the interval as a text', () => {
    expect(ask("date_bin('1 day', far)", batch)).toEqual(
      ask("date_bin(interval '1 day', far)", batch),
    );
    expect(refusal("date_bin('often', far)", batch)).toBe(
      "type: expected an interval such as '1 day' as argument 1 of date_bin(interval, value[, origin]), found string, at position 10",
    );
  });
});
