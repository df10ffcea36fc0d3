import { dayNanoseconds, dayOf, daysSinceEpoch } from './calendar.ts';
import { months, formatParts, dayNames, type FormatPart } from './date-format.ts';

/** Fields of a moment that were parsed so far. */
interface Fields {
  year: number;
  month: number;
  day: number;
  dayOfYear: number | undefined;
  hour: number;
  afternoon: boolean | undefined;
  minute: number;
  second: number;
  nanoseconds: bigint;
  /** A moment by itself, which decides alone. */
  epoch: bigint | undefined;
}

/** Pattern of a field, and how to store its text; false if the text is out of range. */
type Read = readonly [pattern: RegExp, take: (text: string, fields: Fields) => boolean];

function within(value: number, least: number, most: number): boolean {
  return value >= least && value <= most;
}

function readNumber(
  pattern: RegExp,
  least: number,
  most: number,
  put: (fields: Fields, value: number) => void,
): Read {
  return [
    pattern,
    (text, fields) => {
      put(fields, Number(text));
      return within(Number(text), least, most);
    },
  ];
}

function readMonth(pattern: RegExp): Read {
  return [
    pattern,
    (text, fields) => {
      const lower = text.toLowerCase();
      fields.month = months.findIndex((name) => name.toLowerCase().startsWith(lower)) + 1;
      return fields.month > 0;
    },
  ];
}

function readFraction(pattern: RegExp): Read {
  return [
    pattern,
    (text, fields) => {
      fields.nanoseconds = BigInt(text.replace('.', '').padEnd(9, '0'));
      return true;
    },
  ];
}

const monthNames = months.map((name) => name.toLowerCase());
const readName = (names: readonly string[]): RegExp => new RegExp(names.join('|'), 'iy');
const shortDays = dayNames.map((name) => name.slice(0, 3));
const readMonthShort = readMonth(readName(monthNames.map((name) => name.slice(0, 3))));
const anyDay: Read = [readName([...dayNames, ...shortDays]), () => true];

const readers: ReadonlyMap<string, Read> = new Map<string, Read>([
  ['Y', readNumber(/[+-]?\d{1,6}/y, -262_143, 262_142, (fields, value) => (fields.year = value))],
  [
    'y',
    readNumber(
      /\d{1,2}/y,
      0,
      99,
      (fields, value) => (fields.year = value + (value < 70 ? 2000 : 1900)),
    ),
  ],
  ['m', readNumber(/\d{1,2}/y, 1, 12, (fields, value) => (fields.month = value))],
  ['d', readNumber(/\d{1,2}/y, 1, 31, (fields, value) => (fields.day = value))],
  ['e', readNumber(/ ?\d{1,2}/y, 1, 31, (fields, value) => (fields.day = value))],
  ['j', readNumber(/\d{1,3}/y, 1, 366, (fields, value) => (fields.dayOfYear = value))],
  ['b', readMonthShort],
  ['h', readMonthShort],
  ['B', readMonth(readName([...monthNames, ...monthNames.map((name) => name.slice(0, 3))]))],
  ['a', anyDay],
  ['A', anyDay],
  ['H', readNumber(/\d{1,2}/y, 0, 23, (fields, value) => (fields.hour = value))],
  ['k', readNumber(/ ?\d{1,2}/y, 0, 23, (fields, value) => (fields.hour = value))],
  ['I', readNumber(/\d{1,2}/y, 1, 12, (fields, value) => (fields.hour = value % 12))],
  ['l', readNumber(/ ?\d{1,2}/y, 1, 12, (fields, value) => (fields.hour = value % 12))],
  ['M', readNumber(/\d{1,2}/y, 0, 59, (fields, value) => (fields.minute = value))],
  ['S', readNumber(/\d{1,2}/y, 0, 59, (fields, value) => (fields.second = value))],
  ['p', [/[ap]m/iy, (text, fields) => ((fields.afternoon = /^p/i.test(text)), true)]],
  ['P', [/[ap]m/iy, (text, fields) => ((fields.afternoon = /^p/i.test(text)), true)]],
  ['f', [/\d{1,9}/y, (text, fields) => ((fields.nanoseconds = BigInt(text)), true)]],
  ['.f', readFraction(/(?:\.\d{1,9})?/y)],
  ['.3f', readFraction(/\.\d{3}/y)],
  ['.6f', readFraction(/\.\d{6}/y)],
  ['.9f', readFraction(/\.\d{9}/y)],
  ['3f', readFraction(/\d{3}/y)],
  ['6f', readFraction(/\d{6}/y)],
  ['9f', readFraction(/\d{9}/y)],
  [
    's',
    [/[+-]?\d{1,12}/y, (text, fields) => ((fields.epoch = BigInt(text) * 1_000_000_000n), true)],
  ],
  ['%', [/%/y, () => true]],
  ['t', [/\s+/y, () => true]],
  ['n', [/\s+/y, () => true]],
]);

/** The moment that was read; undefined for a day that its month has not. */
function momentOf(fields: Fields): bigint | undefined {
  if (fields.epoch !== undefined) return fields.epoch + fields.nanoseconds;
  const { year, month, day, dayOfYear: ordinal } = fields;
  const days =
    ordinal === undefined
      ? daysSinceEpoch({ year, month, day })
      : daysSinceEpoch({ year, month: 1, day: ordinal });
  const real = dayOf(days);
  const exists =
    ordinal === undefined ? real.month === month && real.day === day : real.year === year;
  const hour = (fields.hour % 24) + (fields.afternoon === true ? 12 : 0);
  const seconds = BigInt(hour * 3600 + fields.minute * 60 + fields.second);
  return exists && hour < 24
    ? BigInt(days) * dayNanoseconds + seconds * 1_000_000_000n + fields.nanoseconds
    : undefined;
}

/**
 * What reads a text in a format of strftime's letters as nanoseconds since 1970; what the
 * format does not name is that of 1970-01-01 00:00:00. Undefined for a format with letters
 * that cannot be read; the reader gives undefined for a text of another form.
 */
export function formatReader(format: string): ((text: string) => bigint | undefined) | undefined {
  const parts = formatParts(format);
  if (parts === undefined || parts.some((part) => 'field' in part && !readers.has(part.field))) {
    return undefined;
  }
  return (text) => {
    const fields: Fields = {
      year: 1970,
      month: 1,
      day: 1,
      dayOfYear: undefined,
      hour: 0,
      afternoon: undefined,
      minute: 0,
      second: 0,
      nanoseconds: 0n,
      epoch: undefined,
    };
    const end = parts.reduce((at, part) => readPart(part, text, at, fields), 0);
    return end === text.length ? momentOf(fields) : undefined;
  };
}

/** Index after a part of the text; beyond the text's end if the part is missing. */
function readPart(part: FormatPart, text: string, at: number, fields: Fields): number {
  const nowhere = text.length + 1;
  if ('text' in part) return text.startsWith(part.text, at) ? at + part.text.length : nowhere;
  const [pattern, take] = readers.get(part.field)!;
  pattern.lastIndex = at;
  const found = at > text.length ? null : pattern.exec(text);
  return found !== null && take(found[0], fields) ? at + found[0].length : nowhere;
}
