import { describe, expect, it } from 'vitest';
import { isFrozen, minuteOf, parseWeekdays, type Freeze } from '../../src/rules/zone-clock.ts';

const frozen = (days: string, from: string, to: string, zone: string, at: string) => {
  const freeze: Freeze = {
    days: new Set(parseWeekdays(days)),
    from: minuteOf(from)!,
    to: minuteOf(to)!,
    zone,
    text: '',
  };
  return isFrozen(freeze, Date.parse(at));
};

describe('a freeze', () => {
  // 20 November 2026 is a Friday.
  it.each([
    ['fri', '11:00', '13:00', 'UTC', '2026-11-20T11:00:00Z', true],
    ['fri', '11:00', '13:00', 'UTC', '2026-11-20T12:59:59Z', true],
    ['fri', '11:00', '13:00', 'UTC', '2026-11-20T13:00:00Z', false],
    ['fri', '11:00', '13:00', 'UTC', '2026-11-21T12:00:00Z', false],
    // Over midnight it belongs to the day on which it begins.
    ['fri', '22:00', '06:00', 'UTC', '2026-11-20T23:00:00Z', true],
    ['fri', '22:00', '06:00', 'UTC', '2026-11-21T05:59:00Z', true],
    ['fri', '22:00', '06:00', 'UTC', '2026-11-21T06:00:00Z', false],
    ['fri', '22:00', '06:00', 'UTC', '2026-11-20T05:00:00Z', false],
    ['mon', '22:00', '06:00', 'UTC', '2026-11-23T00:30:00Z', false],
    ['sun', '22:00', '06:00', 'UTC', '2026-11-23T00:30:00Z', true],
    ['fri', '00:00', '00:00', 'UTC', '2026-11-20T23:59:00Z', true],
    ['fri', '00:00', '24:00', 'UTC', '2026-11-21T00:00:00Z', false],
    // By the clocks of the zone, in summer and in winter.
    ['fri', '11:00', '13:00', 'Europe/Berlin', '2026-11-20T10:30:00Z', true],
    ['fri', '11:00', '13:00', 'Europe/Berlin', '2026-11-20T12:30:00Z', false],
    ['fri', '11:00', '13:00', 'Europe/Berlin', '2026-07-17T09:30:00Z', true],
    ['sat', '11:00', '13:00', 'Pacific/Auckland', '2026-11-20T22:30:00Z', true],
    ['fri..mon', '00:00', '24:00', 'UTC', '2026-11-23T12:00:00Z', true],
    ['fri..mon', '00:00', '24:00', 'UTC', '2026-11-24T12:00:00Z', false],
  ])('on %s from %s to %s %s, at %s: %s', (days, from, to, zone, at, expected) => {
    expect(frozen(days, from, to, zone, at)).toBe(expected);
  });

  it('has no other days and times than there are', () => {
    expect([
      parseWeekdays('friday'),
      parseWeekdays('fri..'),
      minuteOf('24:01'),
      minuteOf('9'),
      minuteOf('7:60'),
    ]).toEqual(Array(5).fill(undefined));
  });
});
