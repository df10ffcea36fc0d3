import type { Interval } from './expression.ts';
import { parseTime } from './calendar.ts';

/** A unit in months, in days or in nanoseconds. */
type Unit = readonly ['months' | 'days' | 'nanoseconds', bigint];

const units: ReadonlyMap<string, Unit> = new Map<string, Unit>([
  ['millennium', ['months', 12_000n]],
  ['century', ['months', 1200n]],
  ['decade', ['months', 120n]],
  ['year', ['months', 12n]],
  ['quarter', ['months', 3n]],
  ['month', ['months', 1n]],
  ['mon', ['months', 1n]],
  ['week', ['days', 7n]],
  ['day', ['days', 1n]],
  ['hour', ['nanoseconds', 3_600_000_000_000n]],
  ['minute', ['nanoseconds', 60_000_000_000n]],
  ['min', ['nanoseconds', 60_000_000_000n]],
  ['second', ['nanoseconds', 1_000_000_000n]],
  ['sec', ['nanoseconds', 1_000_000_000n]],
  ['millisecond', ['nanoseconds', 1_000_000n]],
  ['microsecond', ['nanoseconds', 1000n]],
  ['nanosecond', ['nanoseconds', 1n]],
]);

function unitOf(word: string): Unit | undefined {
  const lower = word.toLowerCase();
  return units.get(lower) ?? units.get(lower.replace(/s$/, ''));
}

const largest = 2_147_483_647n;

interface Sums {
  months: bigint;
  days: bigint;
  nanoseconds: bigint;
}

/** Adds `amount` of a unit; false when it is no number, or not whole in months or days. */
function addPart(sums: Sums, amount: string, word: string): boolean {
  const unit = unitOf(word);
  const found = /^([+-]?)(\d{1,19})(?:\.(\d{1,9}))?$/.exec(amount);
  if (unit === undefined || found === null) return false;
  const scaled =
    (BigInt(found[2]!) * 1_000_000_000n + BigInt((found[3] ?? '').padEnd(9, '0'))) * unit[1];
  if (scaled % 1_000_000_000n !== 0n) return false;
  sums[unit[0]] += (found[1] === '-' ? -scaled : scaled) / 1_000_000_000n;
  return true;
}

function addClock(sums: Sums, word: string): boolean {
  const time = parseTime(word.replace(/^[+-]/, ''));
  if (time === undefined) return false;
  sums.nanoseconds += word.startsWith('-') ? -time : time;
  return true;
}

function inRange({ months, days, nanoseconds }: Sums): boolean {
  const fits = (value: bigint, limit: bigint): boolean => value <= limit && value >= -limit;
  return fits(months, largest) && fits(days, largest) && fits(nanoseconds, (1n << 63n) - 1n);
}

/**
 * The interval of `1 day`, `2 years -3 months`, `1 day 02:30:00`, or of a bare
 * number when the unit stands behind the text. Undefined when it is none.
 */
export function parseInterval(text: string, unit: string | undefined): Interval | undefined {
  const sums: Sums = { months: 0n, days: 0n, nanoseconds: 0n };
  const written = unit === undefined ? text : `${text} ${unit}`;
  const words = written
    .replace(/([0-9])([a-zA-Z])/g, '$1 $2')
    .trim()
    .split(/\s+/);
  for (let index = 0; index < words.length;) {
    const word = words[index]!;
    const clock = word.includes(':');
    if (!(clock ? addClock(sums, word) : addPart(sums, word, words[index + 1] ?? ''))) {
      return undefined;
    }
    index += clock ? 1 : 2;
  }
  if (!inRange(sums)) return undefined;
  return Object.freeze({
    months: Number(sums.months),
    days: Number(sums.days),
    nanoseconds: sums.nanoseconds,
  });
}

/** Whether a word names a unit that may follow `interval '1'`. */
export function isIntervalUnit(word: string): boolean {
  return unitOf(word) !== undefined;
}

/** The text that `parseInterval` reads back. */
export function formatInterval({ months, days, nanoseconds }: Interval): string {
  return `${months} months ${days} days ${nanoseconds} nanoseconds`;
}
