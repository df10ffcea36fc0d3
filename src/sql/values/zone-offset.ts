/** UTC offset of a zone, in seconds, at an instant in seconds since 1970. */
export type ZoneOffset = (moment: number) => number;

/** Period within which the offset of a zone changes at most once: eight days, in seconds. */
const STRETCH = 691_200;
/** The last instant that a date can represent; offsets are constant beyond it. */
const LAST = 8_640_000_000_000;
const MOST_KEPT = 100_000;

/** Offsets of a period: until an instant, and from then on. */
interface Known {
  readonly until: number;
  readonly before: number;
  readonly after: number;
}

/**
 * The offsets of a zone: a fixed one such as `+05:30`, or one of the IANA time
 * zone database. Undefined for what is no zone.
 */
export function zoneOffset(zone: string): ZoneOffset | undefined {
  const fixed = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone);
  if (fixed !== null) {
    const seconds = secondsOf(fixed[1], fixed[2], fixed[3], undefined);
    return () => seconds;
  }
  const read = readerOf(zone);
  return read === undefined ? undefined : remembered(read);
}

function secondsOf(
  sign: string | undefined,
  hours: string | undefined,
  minutes: string | undefined,
  seconds: string | undefined,
): number {
  const size = Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0);
  return sign === '-' ? -size : size;
}

/** Reads the offset from the zone database of the runtime, which takes microseconds. */
function readerOf(zone: string): ZoneOffset | undefined {
  const format = formatOf(zone);
  if (format === undefined) return undefined;
  return (moment) => {
    const text = format.format(Math.max(-LAST, Math.min(LAST, moment)) * 1000);
    const found = /GMT(?:([+-])(\d{1,2}):(\d{2})(?::(\d{2}))?)?$/.exec(text);
    return secondsOf(found?.[1], found?.[2], found?.[3], found?.[4]);
  };
}

function formatOf(zone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  } catch {
    return undefined;
  }
}

/** Reads few offsets per period, and more only around a change. */
function remembered(read: ZoneOffset): ZoneOffset {
  const stretches = new Map<number, Known>();
  return (moment) => {
    const index = Math.floor(moment / STRETCH);
    let cached = stretches.get(index);
    if (cached === undefined) {
      if (stretches.size >= MOST_KEPT) stretches.clear();
      cached = stretch(read, index * STRETCH);
      stretches.set(index, cached);
    }
    return moment < cached.until ? cached.before : cached.after;
  };
}

function stretch(read: ZoneOffset, start: number): Known {
  const [before, after] = [read(start), read(start + STRETCH - 1)];
  if (before === after) return { until: start, before, after };
  let [low, high] = [start, start + STRETCH - 1];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (read(middle) === before) low = middle;
    else high = middle;
  }
  return { until: high, before, after };
}
