const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{6})Z$/;

/** Formats microseconds since 1970 as RFC 3339 in UTC with microseconds. */
export function timeOf(micros: bigint | number): string {
  if (typeof micros === 'bigint') {
    return textOf(Number(micros / BigInt(MICROS)), Number(micros % BigInt(MICROS)));
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

const MICROS = 1_000_000;
/** Last formatted second: the next time is usually in the same. */
let last = { second: -1, text: '1969-12-31T23:59:59' };
/** Last parsed second. */
let read = { seconds: '1970-01-01T00:00:00', millis: 0 };

/** Parses a time of `timeOf` into microseconds since 1970. @throws RangeError for any other text */
export function microsOf(time: string): bigint {
  const [, seconds, fraction] = TIME.exec(time) ?? [];
  const millis = seconds === read.seconds ? read.millis : Date.parse(`${seconds}Z`);
  if (fraction === undefined || Number.isNaN(millis)) {
    throw new RangeError(`${JSON.stringify(time)} is no time with microseconds in UTC`);
  }
  if (seconds !== undefined) read = { seconds, millis };
  return BigInt(millis) * 1000n + BigInt(fraction);
}
