import { dayOf, daysOf } from './calendar.ts';

/** Monday is 1. */
export function isoWeekday(days: number): number {
  return ((((days + 3) % 7) + 7) % 7) + 1;
}

/** The first of January is 1. */
export function dayOfYear(days: number): number {
  return days - daysOf({ year: dayOf(days).year, month: 1, day: 1 }) + 1;
}

/** The year that the week's Thursday lies in (ISO 8601). */
export function isoYear(days: number): number {
  return dayOf(days - isoWeekday(days) + 4).year;
}

/** The week of the year that holds the week's Thursday (ISO 8601). */
export function isoWeek(days: number): number {
  const thursday = days - isoWeekday(days) + 4;
  return Math.floor((dayOfYear(thursday) - 1) / 7) + 1;
}
