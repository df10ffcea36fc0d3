import { Int32, TimestampMicrosecond } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { bindExpression } from '../../src/sql/bind.ts';
import { evaluate } from '../../src/sql/evaluate.ts';
import { parseExpression } from '../../src/sql/parse.ts';
import { printExpression } from './print.ts';
import { ask, batchOf, column, refusal, typeOf, valuesOf } from './support.ts';

const batch = batchOf({
  ts: column(new TimestampMicrosecond(), [0, Date.UTC(2999, 0, 1), null]),
  current_date: column(new Int32(), [1, 2, 3]),
});

/** 2024-02-29 13:01:01.25 */
const now = 1_709_211_661_250_000_000n;

function askAt(text: string): unknown {
  const scope = { fields: batch.schema.fields, now };
  return valuesOf(evaluate(bindExpression(parseExpression(text), scope), batch))[0];
}

describe('functions of the clock', () => {
  it.each([
    ['now()', 'Timestamp<NANOSECOND>', now],
    ['current_timestamp', 'Timestamp<NANOSECOND>', now],
    ['CURRENT_TIMESTAMP()', 'Timestamp<NANOSECOND>', now],
    ['current_date', 'Date32<DAY>', 19_782],
    ['today()', 'Date32<DAY>', 19_782],
    ['current_time', 'Time64<NANOSECOND>', 46_861_250_000_000n],
    ["now() - interval '1 day'", 'Timestamp<NANOSECOND>', now - 86_400_000_000_000n],
    ['`current_date`', 'Int32', 1],
  ])('%s', (text, type, value) => {
    expect(typeOf(text, batch)).toBe(type);
    expect(askAt(text)).toBe(value);
  });

  it('give one moment to a whole statement', () => {
    const many = Array.from({ length: 200 }, () => 'now()').join(', ');
    expect(ask(`array_has_all([now()], [${many}])`, batch)).toEqual([true, true, true]);
    expect(ask('current_date = to_date(current_timestamp)', batch)).toEqual([true, true, true]);
  });

  it('read the clock when no moment is given', () => {
    expect(ask('ts < now()', batch)).toEqual([true, false, null]);
    expect(ask("now() > timestamp '2024-01-01'", batch)).toEqual([true, true, true]);
  });

  it('print so that they are read again', () => {
    expect(printExpression(parseExpression('ts < current_timestamp'))).toBe(
      'ts < current_timestamp()',
    );
  });

  it('take no arguments', () => {
    expect(refusal('current_date(1)', batch)).toBe(
      'type: expected current_date(), found 1 argument, at position 1',
    );
    expect(refusal('today(ts)', batch)).toBe(
      'type: expected today(), found 1 argument, at position 1',
    );
  });
});
