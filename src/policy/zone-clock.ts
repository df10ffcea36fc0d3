/** The days of a week, as conditions name them. */
export const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

export type Day = (typeof days)[number];

/** What the clock on the wall shows. */
export interface LocalTime {
  readonly day: Day;
  /** Minutes since midnight. */
  readonly minute: number;
}

const clocks = new Map<string, Intl.DateTimeFormat>();

/** Whether the zone is known: an IANA name, or UTC. */
export function isZone(zone: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(zone)) return false;
  try {
    clockOf(zone);
    return true;
  } catch {
    return false;
  }
}

/** The local time of a zone, at a moment in milliseconds since 1970. */
export function localTime(zone: string, millis: number): LocalTime {
  const parts = new Map(
    clockOf(zone)
      .formatToParts(millis)
      .map(({ type, value }) => [type, value]),
  );
  const day = parts.get('weekday')!.toLowerCase();
  return {
    day: days.find((name) => name === day)!,
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
