import { UsageError } from './service-error.ts';

const UTC = 'UTC';
const MINUTE_MILLIS = 60_000;

/** A time zone in which times are read and printed. */
export class Zone {
  readonly name: string;
  readonly #offsets: Intl.DateTimeFormat;
  /** The hour of the last offset, in which no zone changes its own twice, and that offset. */
  #last = { quarter: Number.NaN, minutes: 0 };

  /** @throws RangeError for an unknown name */
  constructor(name: string) {
    this.name = name;
    this.#offsets = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      timeZoneName: 'longOffset',
    });
  }

  /** Minutes by which the zone is ahead of UTC. */
  offset(millis: number): number {
    if (this.name === UTC) return 0;
    const quarter = Math.floor(millis / (15 * MINUTE_MILLIS));
    if (quarter !== this.#last.quarter) this.#last = { quarter, minutes: this.#minutesAt(millis) };
    return this.#last.minutes;
  }

  #minutesAt(millis: number): number {
    const text = this.#offsets.formatToParts(millis).at(-1)?.value ?? '';
    const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)/.exec(text) ?? [];
    const size = Number(hours ?? 0) * 60 + Number(minutes ?? 0);
    return sign === '-' ? -size : size;
  }

  /** Midnight at the start of a day (`2026-11-20`), in milliseconds since 1970; undefined if there is no such day. */
  startOf(day: string): number | undefined {
    const midnight = Date.parse(`${day}T00:00:00Z`);
    if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(day))
      return undefined;
    const guess = midnight - this.offset(midnight) * MINUTE_MILLIS;
    return midnight - this.offset(guess) * MINUTE_MILLIS;
  }

  /** The day that a clock of the zone shows. */
  dayOf(millis: number): string {
    return new Date(millis + this.offset(millis) * MINUTE_MILLIS).toISOString().slice(0, 10);
  }

  /** A time of the log (RFC 3339 in UTC), as a clock of the zone shows it. */
  shown(time: string): string {
    const millis = Date.parse(time);
    if (this.name === UTC || Number.isNaN(millis)) return time;
    const minutes = this.offset(millis);
    const local = new Date(millis + minutes * MINUTE_MILLIS).toISOString().slice(0, 19);
    const [hour, minute] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
    const offset = [hour, minute].map((part) => String(part).padStart(2, '0')).join(':');
    const fraction = /\.\d+/.exec(time)?.[0] ?? '';
    return `${local}${fraction}${minutes < 0 ? '-' : '+'}${offset}`;
  }
}

export const TZ_ABOUT = 'zone of days and printed times, such as Europe/Berlin or local';

/** The zone of the flag `--tz`; UTC where it is absent. @throws UsageError */
export function zoneOf(typed: string | undefined): Zone {
  const local = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  try {
    return new Zone(typed === undefined ? UTC : typed === 'local' ? local : typed);
  } catch {
    throw new UsageError(
      `--tz is ${JSON.stringify(typed)}, but must be UTC, local or a zone such as Europe/Berlin`,
    );
  }
}
