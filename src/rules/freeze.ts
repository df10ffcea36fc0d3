import { wallTime, weekdays, type Weekday } from './zone-clock.ts';

/** A time of each week at which nothing is committed. */
export interface Freeze {
  /** The days on which it begins. */
  readonly days: ReadonlySet<Weekday>;
  /** Minutes since midnight, local time of the zone. */
  readonly from: number;
  /** The first minute after it, up to 1440; one that is not after `from` is of the day after. */
  readonly to: number;
  readonly zone: string;
  /** As it is written, for messages. */
  readonly text: string;
}

/** Whether a moment, in milliseconds since 1970, lies in a freeze. */
export function isFrozen({ days, from, to, zone }: Freeze, millis: number): boolean {
  const { day, minute } = wallTime(zone, millis);
  if (from < to) return days.has(day) && minute >= from && minute < to;
  return (days.has(day) && minute >= from) || (days.has(dayBefore(day)) && minute < to);
}

function dayBefore(day: Weekday): Weekday {
  return weekdays[(weekdays.indexOf(day) + 6) % 7]!;
}

const CLOCK = /^([01]?\d|2[0-4]):([0-5]\d)$/;

/** Minutes since midnight of a text such as `22:30`, up to `24:00`; undefined for any other. */
export function minuteOf(text: string): number | undefined {
  const [, hours, minutes] = CLOCK.exec(text) ?? [];
  const minute = Number(hours) * 60 + Number(minutes);
  return minute <= 1440 ? minute : undefined;
}
