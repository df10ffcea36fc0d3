export const dayNanoseconds = 86_400_000_000_000n;

/** Rounded down, below zero too. */
export function floorDivide(value: bigint, by: bigint): bigint {
  const rest = value % by;
  return (value - rest) / by - (rest < 0n ? 1n : 0n);
}

/** A day of the proleptic Gregorian calendar, year 0 being 1 BC as in ISO 8601. */
interface Day {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  /** 1 to 31. */
  readonly day: number;
}

const monthLengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** The number of days of a month. */
function monthLength(year: number, month: number): number {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && leap ? 29 : monthLengths[month - 1]!;
}

/** Days since 1970-01-01. Years run from March here, so that the leap day is a year's last. */
export function daysSinceEpoch({ year, month, day }: Day): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra =
    yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

/** The day that is `days` after 1970-01-01. */
export function dayOf(days: number): Day {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1,
  };
}

/** Adds months to a day; the 31st becomes the last day of a shorter month. */
export function addMonths(days: number, months: number): number {
  const { year, month, day } = dayOf(days);
  const total = year * 12 + (month - 1) + months;
  const to = { year: Math.floor(total / 12), month: (((total % 12) + 12) % 12) + 1 };
  return daysSinceEpoch({ ...to, day: Math.min(day, monthLength(to.year, to.month)) });
}

const dateText = /^([+-]?\d{4,6})-(\d{1,2})-(\d{1,2})$/;
const timeText = /^(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?$/;
const stampText =
  /^([+-]?\d{4,6}-\d{1,2}-\d{1,2})(?:(?:[T ]|\s+)(\d{1,2}:[\d:.]+)\s*(Z|z|UTC|[+-]\d{2}(?::?\d{2})?)?)?$/;

/** Days since 1970-01-01 of `YYYY-MM-DD`; undefined if the text is not a date. */
export function parseDate(text: string): number | undefined {
  const found = dateText.exec(text.trim());
  if (found === null) return undefined;
  const [year, month, day] = [Number(found[1]), Number(found[2]), Number(found[3])];
  const real = month >= 1 && month <= 12 && day >= 1 && day <= monthLength(year, month);
  return real ? daysSinceEpoch({ year, month, day }) : undefined;
}

/** Nanoseconds since midnight of `HH:MM[:SS[.fraction]]`; undefined if the text is not a time. */
export function parseTime(text: string): bigint | undefined {
  const found = timeText.exec(text.trim());
  if (found === null) return undefined;
  const [hour, minute, second] = [Number(found[1]), Number(found[2]), Number(found[3] ?? 0)];
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  return (
    BigInt(hour * 3600 + minute * 60 + second) * 1_000_000_000n +
    BigInt((found[4] ?? '').padEnd(9, '0'))
  );
}

function zoneMinutes(zone: string | undefined): number | undefined {
  const found = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone ?? '');
  if (found === null) return 0;
  const minutes = Number(found[2]) * 60 + Number(found[3] ?? 0);
  return minutes > 18 * 60 || Number(found[3] ?? 0) > 59
    ? undefined
    : minutes * (found[1] === '-' ? -1 : 1);
}

/** A moment of the text, and whether the text named a zone. */
interface Stamp {
  /** Since 1970-01-01 00:00:00 UTC; without a zone the text counts as UTC. */
  readonly nanoseconds: bigint;
  readonly zoned: boolean;
}

/** `YYYY-MM-DD[ HH:MM[:SS[.fraction]]][zone]`, a T or a blank between; undefined if it is none. */
export function parseTimestamp(text: string): Stamp | undefined {
  const found = stampText.exec(text.trim());
  if (found === null) return undefined;
  const days = parseDate(found[1]!);
  const time = found[2] === undefined ? 0n : parseTime(found[2]);
  const offset = zoneMinutes(found[3]);
  if (days === undefined || time === undefined || offset === undefined) return undefined;
  const nanoseconds = BigInt(days) * dayNanoseconds + time - BigInt(offset) * 60_000_000_000n;
  return { nanoseconds, zoned: found[3] !== undefined };
}

function padded(value: number, width: number): string {
  return String(value).padStart(width, '0');
}

/** `YYYY-MM-DD`. */
export function formatDate(days: number): string {
  const { year, month, day } = dayOf(days);
  const sign = year < 0 ? '-' : year > 9999 ? '+' : '';
  return `${sign}${padded(Math.abs(year), 4)}-${padded(month, 2)}-${padded(day, 2)}`;
}

/** `HH:MM:SS`, and the fraction in threes of digits when there is one. */
export function formatTime(nanoseconds: bigint): string {
  const seconds = Number(nanoseconds / 1_000_000_000n);
  const fraction = String(nanoseconds % 1_000_000_000n)
    .padStart(9, '0')
    .replace(/(?:000)+$/, '');
  const clock = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return clock.map((part) => padded(part, 2)).join(':') + (fraction === '' ? '' : `.${fraction}`);
}

/** `+01:00`, with seconds where there are some; nothing for 0. */
export function formatOffset(seconds: number): string {
  if (seconds === 0) return '';
  const size = Math.abs(seconds);
  const parts = [Math.floor(size / 3600), Math.floor(size / 60) % 60, size % 60];
  const shown = parts[2] === 0 ? parts.slice(0, 2) : parts;
  return (seconds < 0 ? '-' : '+') + shown.map((part) => padded(part, 2)).join(':');
}

/** `1 days 2 hours 3 mins 4.500 secs`, with the digits of a step, as Arrow writes it. */
export function formatDuration(nanoseconds: bigint, step: bigint): string {
  const seconds = nanoseconds / 1_000_000_000n;
  const minutes = seconds / 60n;
  const hours = minutes / 60n;
  const size = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const digits = 10 - String(step).length;
  const fraction = String(size % 1_000_000_000n)
    .padStart(9, '0')
    .slice(0, digits);
  const rest = `${(size / 1_000_000_000n) % 60n}${digits === 0 ? '' : `.${fraction}`}`;
  const isNegative = nanoseconds < 0n && /[1-9]/.test(rest);
  return `${hours / 24n} days ${hours % 24n} hours ${minutes % 60n} mins ${isNegative ? '-' : ''}${rest} secs`;
}

/** The whole days of a moment, rounded down, and the nanoseconds since that day's midnight. */
export function splitDays(nanoseconds: bigint): { readonly days: number; readonly time: bigint } {
  const time = ((nanoseconds % dayNanoseconds) + dayNanoseconds) % dayNanoseconds;
  return { days: Number((nanoseconds - time) / dayNanoseconds), time };
}

/** `YYYY-MM-DDTHH:MM:SS[.fraction]`. */
export function formatTimestamp(nanoseconds: bigint): string {
  const { days, time } = splitDays(nanoseconds);
  return `${formatDate(days)}T${formatTime(time)}`;
}

/** Monday is 1. */
export function isoWeekday(days: number): number {
  return ((((days + 3) % 7) + 7) % 7) + 1;
}

/** The first of January is 1. */
export function dayOfYear(days: number): number {
  return days - daysSinceEpoch({ year: dayOf(days).year, month: 1, day: 1 }) + 1;
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
