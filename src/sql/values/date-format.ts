import {
  dayNanoseconds,
  dayOf,
  formatOffset,
  splitDays,
  dayOfYear,
  isoWeek,
  isoWeekday,
  isoYear,
} from './calendar.ts';

/** The months' names. */
export const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** The days' names, Monday first. */
export const dayNames = [
  'Monday',
  'Tuesday',
  'Wednesday',
  'Thursday',
  'Friday',
  'Saturday',
  'Sunday',
];

/** Local time: day since 1970, nanoseconds of the day, and UTC offset in seconds. */
type Write = (days: number, time: bigint, offset: number) => string;

function two(value: number, filler = '0'): string {
  return String(value).padStart(2, filler);
}

function hourOf(time: bigint): number {
  return Number(time / 3_600_000_000_000n);
}

function hourOf12(time: bigint): number {
  return ((hourOf(time) + 11) % 12) + 1;
}

function minuteOf(time: bigint): number {
  return Number((time / 60_000_000_000n) % 60n);
}

function secondOf(time: bigint): number {
  return Number((time / 1_000_000_000n) % 60n);
}

function fraction(time: bigint, digits: number): string {
  return String(time % 1_000_000_000n)
    .padStart(9, '0')
    .slice(0, digits);
}

/** Fraction of a second in 0, 3, 6 or 9 digits. */
function shortFraction(time: bigint): string {
  const digits = fraction(time, 9).replace(/(?:000){1,3}$/, '');
  return digits === '' ? '' : `.${digits}`;
}

function yearText(year: number): string {
  const sign = year < 0 ? '-' : year > 9999 ? '+' : '';
  return sign + String(Math.abs(year)).padStart(4, '0');
}

function weekFrom(days: number, first: number): number {
  return Math.floor((dayOfYear(days) + 6 - ((isoWeekday(days) - first + 7) % 7)) / 7);
}

const dateWriters: Readonly<Record<string, Write>> = {
  Y: (days) => yearText(dayOf(days).year),
  C: (days) => two(Math.floor(dayOf(days).year / 100)),
  y: (days) => two(((dayOf(days).year % 100) + 100) % 100),
  m: (days) => two(dayOf(days).month),
  b: (days) => months[dayOf(days).month - 1]!.slice(0, 3),
  h: (days) => months[dayOf(days).month - 1]!.slice(0, 3),
  B: (days) => months[dayOf(days).month - 1]!,
  d: (days) => two(dayOf(days).day),
  e: (days) => two(dayOf(days).day, ' '),
  a: (days) => dayNames[isoWeekday(days) - 1]!.slice(0, 3),
  A: (days) => dayNames[isoWeekday(days) - 1]!,
  w: (days) => String(isoWeekday(days) % 7),
  u: (days) => String(isoWeekday(days)),
  U: (days) => two(weekFrom(days, 7)),
  W: (days) => two(weekFrom(days, 1)),
  G: (days) => yearText(isoYear(days)),
  g: (days) => two(((isoYear(days) % 100) + 100) % 100),
  V: (days) => two(isoWeek(days)),
  j: (days) => String(dayOfYear(days)).padStart(3, '0'),
};

const timeWriters: Readonly<Record<string, Write>> = {
  H: (_, time) => two(hourOf(time)),
  k: (_, time) => two(hourOf(time), ' '),
  I: (_, time) => two(hourOf12(time)),
  l: (_, time) => two(hourOf12(time), ' '),
  p: (_, time) => (hourOf(time) < 12 ? 'AM' : 'PM'),
  P: (_, time) => (hourOf(time) < 12 ? 'am' : 'pm'),
  M: (_, time) => two(minuteOf(time)),
  S: (_, time) => two(secondOf(time)),
  f: (_, time) => fraction(time, 9),
  '.f': (_, time) => shortFraction(time),
  '.3f': (_, time) => `.${fraction(time, 3)}`,
  '.6f': (_, time) => `.${fraction(time, 6)}`,
  '.9f': (_, time) => `.${fraction(time, 9)}`,
  '3f': (_, time) => fraction(time, 3),
  '6f': (_, time) => fraction(time, 6),
  '9f': (_, time) => fraction(time, 9),
  s: (days, time, offset) =>
    String(
      (BigInt(days) * dayNanoseconds + time - (time % 1_000_000_000n)) / 1_000_000_000n -
        BigInt(offset),
    ),
  '%': () => '%',
  t: () => '\t',
  n: () => '\n',
};

function offsetText(offset: number): string {
  return formatOffset(offset) || '+00:00';
}

/** Fields that need a zone. */
const zoneWriters: Readonly<Record<string, Write>> = {
  z: (_, __, offset) => offsetText(offset).replaceAll(':', ''),
  ':z': (_, __, offset) => offsetText(offset),
  Z: (_, __, offset) => offsetText(offset),
};

const writers: ReadonlyMap<string, Write> = new Map([
  ...Object.entries(dateWriters),
  ...Object.entries(timeWriters),
  ...Object.entries(zoneWriters),
]);

/** Fields by their letter. */
const longForms: ReadonlyMap<string, string> = new Map([
  ['D', '%m/%d/%y'],
  ['x', '%m/%d/%y'],
  ['F', '%Y-%m-%d'],
  ['v', '%e-%b-%Y'],
  ['R', '%H:%M'],
  ['T', '%H:%M:%S'],
  ['X', '%H:%M:%S'],
  ['r', '%I:%M:%S %p'],
  ['c', '%a %b %e %H:%M:%S %Y'],
  ['+', '%Y-%m-%dT%H:%M:%S%.f%:z'],
]);

/** A piece of a format: literal text, or a field by its letter. */
export type FormatPart = { readonly text: string } | { readonly field: string };

const token = /%(\.[369]?f|[369]f|:z|.)|%$|[^%]+/gsu;

/** The pieces of a format with `%Y`, `%m` and the like; undefined for a letter that is none of them. */
export function formatParts(format: string): readonly FormatPart[] | undefined {
  const parts: FormatPart[] = [];
  for (const [piece, letter] of format.matchAll(token)) {
    const long = letter === undefined ? undefined : longForms.get(letter);
    if (letter !== undefined && long !== undefined) {
      parts.push(...formatParts(long)!);
    } else if (letter !== undefined && writers.has(letter)) {
      parts.push({ field: letter });
    } else if (piece.startsWith('%')) {
      return undefined;
    } else {
      parts.push({ text: piece });
    }
  }
  return parts;
}

/** Writes a moment, in nanoseconds since 1970, by clocks that are some seconds ahead of UTC. */
type WriteMoment = (nanoseconds: bigint, offset: number) => string;

/**
 * What writes a moment in a format of strftime's letters; undefined for a format with other
 * letters, and for one that asks for a zone where there is none.
 */
export function formatWriter(format: string, zoned: boolean): WriteMoment | undefined {
  const parts = formatParts(format);
  const asksZone = parts?.some((part) => 'field' in part && Object.hasOwn(zoneWriters, part.field));
  return parts === undefined || (asksZone === true && !zoned)
    ? undefined
    : (nanoseconds, offset) => {
        const { days, time } = splitDays(nanoseconds + BigInt(offset) * 1_000_000_000n);
        const pieces = parts.map((part) =>
          'text' in part ? part.text : writers.get(part.field)!(days, time, offset),
        );
        return pieces.join('');
      };
}
