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
  return weekdayNames[(weekdayNames.indexOf(day) + 6) % 7]!;
}

const CLOCK = /^([01]?\d|2[0-4]):([0-5]\d)$/;

/** Minutes since midnight of a text such as `22:30`, up to `24:00`; undefined for any other. */
export function minuteOf(text: string): number | undefined {
  const [, hours, minutes] = CLOCK.exec(text) ?? [];
  const minute = Number(hours) * 60 + Number(minutes);
  return minute <= 1440 ? minute : undefined;
}

/** The days of a week, as conditions and rules name them. */
export const weekdayNames = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

export type Weekday = (typeof weekdayNames)[number];

const RANGE = /^([a-z]{3})\.\.([a-z]{3})$/;

/** The days of a text such as `mon` or `fri..mon`; undefined for any other. */
export function parseWeekdays(text: string): readonly Weekday[] | undefined {
  const [, first, last] = RANGE.exec(text) ?? [null, text, text];
  const from = weekdayNames.findIndex((day) => day === first);
  const to = weekdayNames.findIndex((day) => day === last);
  if (from < 0 || to < 0) return undefined;
  const count = ((to - from + 7) % 7) + 1;
  return Array.from({ length: count }, (_, at) => weekdayNames[(from + at) % 7]!);
}

/** Local date and time. */
interface WallTime {
  readonly day: Weekday;
  /** Minutes since midnight. */
  readonly minute: number;
}

const clocks = new Map<string, Intl.DateTimeFormat>();

/** Whether a time zone is known: a name of the IANA database, or UTC. */
export function isTimeZone(zone: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(zone)) return false;
  try {
    clockOf(zone);
    return true;
  } catch {
    return false;
  }
}

/** The local time of a zone, at a moment in milliseconds since 1970. */
export function wallTime(zone: string, millis: number): WallTime {
  const parts = new Map(
    clockOf(zone)
      .formatToParts(millis)
      .map(({ type, value }) => [type, value]),
  );
  const day = parts.get('weekday')!.toLowerCase();
  return {
    day: weekdayNames.find((name) => name === day)!,
    minute: Number(parts.get('hour')) * 60 + Number(parts.get('minute')),
  };
}

/** @throws RangeError for an unknown zone. */
function clockOf(zone: string): Intl.DateTimeFormat {
  let clock = clocks.get(zone);
  if (clock === undefined) {
    clock = new Intl.DateTimeFormat('en-GB-u-nu-latn', {
      timeZone: zone,
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    });
    clocks.set(zone, clock);
  }
  return clock;
}
