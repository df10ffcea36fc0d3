import { parseDuration } from './units.ts';

const RFC_3339 =
  /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)$/;
const DAY = /^\d{4}-\d\d-\d\d$/;
const DAY_MILLIS = 86_400_000;

/** How times are typed. */
export const MOMENTS =
  'a time such as 2026-01-31T23:59:59Z, a day such as 2026-01-31, today, yesterday, or an age such as 24h';

/** Days of a time zone. */
export interface Calendar {
  /** Midnight at the start of a day (`2026-11-20`), in milliseconds since 1970; undefined if there is no such day. */
  startOf(day: string): number | undefined;
  /** The day of a moment. */
  dayOf(millis: number): string;
}

export const utcCalendar: Calendar = {
  startOf: (day) => (isDay(day) ? Date.parse(`${day}T00:00:00Z`) : undefined),
  dayOf: (millis) => new Date(millis).toISOString().slice(0, 10),
};

/**
 * Microseconds since 1970 of a typed time: RFC 3339, a day of the calendar, or an age before now;
 * undefined if the text is none of them.
 * @param now Milliseconds since 1970.
 */
export function typedMoment(typed: string, calendar: Calendar, now: number): bigint | undefined {
  const age = parseDuration(typed);
  const millis = age === undefined ? startOfDay(typed, calendar, now) : now - age;
  const micros = millis === undefined ? microsOf(typed) : BigInt(millis) * 1000n;
  return micros === undefined || micros < 0n ? undefined : micros;
}

function startOfDay(typed: string, calendar: Calendar, now: number): number | undefined {
  if (DAY.test(typed)) return calendar.startOf(typed);
  const today = calendar.startOf(calendar.dayOf(now))!;
  if (typed === 'today') return today;
  // Half a day before midnight is in the day before, however long that was.
  return typed === 'yesterday'
    ? calendar.startOf(calendar.dayOf(today - DAY_MILLIS / 2))
    : undefined;
}

function microsOf(typed: string): bigint | undefined {
  const [, day, time, fraction = '', zone = ''] = RFC_3339.exec(typed) ?? [];
  const millis = Date.parse(`${day}T${time}${zone.toUpperCase()}`);
  if (day === undefined || Number.isNaN(millis) || !isDay(day)) return undefined;
  return BigInt(millis) * 1000n + BigInt(fraction.padEnd(6, '0').slice(0, 6));
}

/** The system takes the 31st of a short month for the first of the next. */
function isDay(day: string): boolean {
  const midnight = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day);
}
