import { parseDuration } from '../../protocol/units.ts';
import { UsageError } from './service-error.ts';
import type { Zone } from './zone.ts';

const RFC_3339 =
  /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)$/;
const DAY = /^\d{4}-\d\d-\d\d$/;
const DAY_MILLIS = 86_400_000;

/** How times are typed, for the texts of flags. */
export const MOMENTS =
  'a time such as 2026-01-31T23:59:59Z, a day such as 2026-01-31, today, yesterday, or an age such as 24h';

/**
 * Microseconds since 1970 of a typed time: RFC 3339, a day of the zone, or an age before now.
 * @param now Milliseconds since 1970.
 * @throws UsageError
 */
export function momentOf(flag: string, typed: string, zone: Zone, now: number): bigint {
  const age = parseDuration(typed);
  const millis = age === undefined ? startOfDay(typed, zone, now) : now - age;
  const micros = millis === undefined ? microsOf(typed) : BigInt(millis) * 1000n;
  if (micros !== undefined && micros >= 0n) return micros;
  throw new UsageError(`${flag} is ${JSON.stringify(typed)}, but must be ${MOMENTS}`);
}

function startOfDay(typed: string, zone: Zone, now: number): number | undefined {
  if (DAY.test(typed)) return zone.startOf(typed);
  const today = zone.startOf(zone.dayOf(now))!;
  if (typed === 'today') return today;
  // Half a day before midnight is in the day before, however long that was.
  return typed === 'yesterday' ? zone.startOf(zone.dayOf(today - DAY_MILLIS / 2)) : undefined;
}

function microsOf(typed: string): bigint | undefined {
  const [, day, time, fraction = '', zone = ''] = RFC_3339.exec(typed) ?? [];
  const millis = Date.parse(`${day}T${time}${zone.toUpperCase()}`);
  if (day === undefined || Number.isNaN(millis) || !isDay(day)) return undefined;
  return BigInt(millis) * 1000n + BigInt(fraction.padEnd(6, '0').slice(0, 6));
}

/** The system takes the 31st of a short month for the first of the next. */
function isDay(day: string): boolean {
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}
