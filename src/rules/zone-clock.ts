/** The days of a week, as conditions and rules name them. */
export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

export type Weekday = (typeof weekdays)[number];

const RANGE = /^([a-z]{3})\.\.([a-z]{3})$/;

/** The days of a text such as `mon` or `fri..mon`; undefined for any other. */
export function daysOf(text: string): readonly Weekday[] | undefined {
  const [, first, last] = RANGE.exec(text) ?? [null, text, text];
  const from = weekdays.findIndex((day) => day === first);
  const to = weekdays.findIndex((day) => day === last);
  if (from < 0 || to < 0) return undefined;
  const count = ((to - from + 7) % 7) + 1;
  return Array.from({ length: count }, (_, at) => weekdays[(from + at) % 7]!);
}

/** What a clock on a wall shows. */
export interface WallTime {
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
    day: weekdays.find((name) => name === day)!,
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
