import type { Integer } from './types.ts';

/** The start of a search of the whole log: a day before every record. */
export const EVER = '1970-01-01';

/** `2026-01-31 23:59:59.123` of a time of the log, in UTC. */
export function time(rfc3339: string): string {
  return rfc3339.slice(0, 23).replace('T', ' ');
}

const counts = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** A whole number with separators. */
export function count(value: Integer): string {
  return typeof value === 'string' ? counts.format(BigInt(value)) : counts.format(value);
}

/** A number of things that are named: `1 key`, `2 keys`. */
export function things(number: number, name: string): string {
  return `${count(number)} ${name}${number === 1 ? '' : 's'}`;
}

/** A number in few characters. */
export function brief(value: number): string {
  return value < 10_000 ? counts.format(value) : short.format(value);
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytes(value: Integer | null): string {
  if (value === null) return '–';
  let size = Number(value);
  let unit = 0;
  for (; size >= 1024 && unit < UNITS.length - 1; unit++) size /= 1024;
  return `${counts.format(size)} ${UNITS[unit]}`;
}

/** A duration in microseconds. */
export function duration(micros: Integer | null): string {
  if (micros === null) return '–';
  const value = Number(micros);
  if (value < 1000) return `${counts.format(value)} µs`;
  if (value < 1_000_000) return `${counts.format(value / 1000)} ms`;
  const seconds = value / 1_000_000;
  if (seconds < 60) return `${counts.format(seconds)} s`;
  const whole = Math.round(seconds);
  const [minutes, rest] = [Math.floor(whole / 60), whole % 60];
  if (minutes < 60) return rest === 0 ? `${minutes} min` : `${minutes} min ${rest} s`;
  return minutes % 60 === 0
    ? `${Math.floor(minutes / 60)} h`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Beginning of a digest. */
export function digest(text: string | null): string {
  return text === null ? '–' : text.slice(0, 12);
}
