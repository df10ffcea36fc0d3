import { wallTime } from '../../rules/zone-clock.ts';

/** A time of day: from the first minute on, up to the second, which may be past midnight. */
export interface TimeWindow {
  /** Minutes since midnight. */
  readonly from: number;
  readonly to: number;
}

const MINUTES = Array.from({ length: 24 * 60 }, (_, minute) => minute);

/** Reads `08:00..18:00`; either the window, or one sentence that says what is wrong. */
export function parseWindow(text: string): TimeWindow | { readonly fault: string } {
  const match = /^(\d\d):(\d\d)\.\.(\d\d):(\d\d)$/.exec(text);
  const [, h1 = 99, m1 = 99, h2 = 99, m2 = 99] = (match ?? []).map(Number);
  const [from, to] = [h1 * 60 + m1, h2 * 60 + m2];
  if (m1 > 59 || m2 > 59 || from >= 1440 || to > 1440) {
    return { fault: `${JSON.stringify(text)} is no window: write one like 08:00..18:00` };
  }
  if (from !== to) return { from, to };
  return { fault: `the window ${text} is empty: the whole day is 00:00..24:00` };
}

/** Whether the window has the minute of the day. */
export function windowHolds({ from, to }: TimeWindow, minute: number): boolean {
  return from < to ? from <= minute && minute < to : from <= minute || minute < to;
}

/** Whether some minute is in all windows. */
export function windowsMeet(windows: readonly TimeWindow[]): boolean {
  return MINUTES.some((minute) => windows.every((window) => windowHolds(window, minute)));
}

/** A moment as a clock of the zone shows it: `mon 20:05 UTC`; undefined if there is none. */
export function shownTime(zone: string, millis: number | undefined): string | undefined {
  if (millis === undefined) return undefined;
  const { day, minute } = wallTime(zone, millis);
  const [hours, minutes] = [Math.floor(minute / 60), minute % 60];
  return `${day} ${[hours, minutes].map((n) => String(n).padStart(2, '0')).join(':')} ${zone}`;
}

/** A moment as RFC 3339 writes it. */
export const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/** Milliseconds since 1970 of a moment as RFC 3339 writes it; undefined if it is none. */
export function parseMoment(text: string): number | undefined {
  const millis = MOMENT.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(millis) ? undefined : millis;
}
