const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{6})Z$/;
const MICROS = 1_000_000;
/** Digits of the microseconds. */
const DIGITS = 6;
const ZERO = '0'.charCodeAt(0);

/** Last formatted second: the next time is usually in the same. */
let last = { second: -1, text: '1969-12-31T23:59:59' };
/** Last parsed second, and its microseconds since 1970. */
let read = { second: '1970-01-01T00:00:00', micros: 0n };

/** Formats microseconds since 1970 as RFC 3339 in UTC with microseconds. */
export function timeOf(micros: bigint | number): string {
  if (typeof micros === 'bigint') {
    const whole = BigInt(MICROS);
    const rest = ((micros % whole) + whole) % whole;
    return textOf(Number((micros - rest) / whole), Number(rest));
  }
  const second = Math.floor(micros / MICROS);
  return textOf(second, micros - second * MICROS);
}

function textOf(second: number, micros: number): string {
  if (second !== last.second) {
    const text = new Date(second * 1000).toISOString().slice(0, -'.000Z'.length);
    last = { second, text };
  }
  // The additional leading digit preserves leading zeros.
  return `${last.text}.${String(MICROS + micros).slice(1)}Z`;
}

/** Parses a time of `timeOf` into microseconds since 1970. @throws RangeError for any other text */
export function microsOf(time: string): bigint {
  const fraction = fractionAfter(read.second, time);
  return fraction === undefined ? parsed(time) : read.micros + BigInt(fraction);
}

/** Microseconds of a time within a second; undefined for a time in another one, and for other texts. */
function fractionAfter(second: string, time: string): number | undefined {
  const begin = second.length + 1;
  const end = begin + DIGITS;
  if (time.length !== end + 1 || time[begin - 1] !== '.' || time[end] !== 'Z') return undefined;
  if (!time.startsWith(second)) return undefined;
  let fraction = 0;
  for (let at = begin; at < end; at++) {
    const digit = time.charCodeAt(at) - ZERO;
    if (digit < 0 || digit > 9) return undefined;
    fraction = 10 * fraction + digit;
  }
  return fraction;
}

function parsed(time: string): bigint {
  const [, second, fraction] = TIME.exec(time) ?? [];
  const millis = Date.parse(`${second}Z`);
  if (second === undefined || fraction === undefined || Number.isNaN(millis)) {
    throw new RangeError(`${JSON.stringify(time)} is no time with microseconds in UTC`);
  }
  read = { second, micros: BigInt(millis) * 1000n };
  return read.micros + BigInt(fraction);
}
