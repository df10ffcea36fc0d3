import type { DataType, Timestamp } from 'apache-arrow';
import { SqlError } from './sql-error.ts';
import { dayNanoseconds, floorDivide } from './calendar.ts';
import { elementType, familyOf, mapTypes, stepOf, sqlTypeName } from './types.ts';
import { zoneOffset, type ZoneOffset } from './zone-offset.ts';

const utc: ReadonlySet<string> = new Set([
  'utc',
  'etc/utc',
  'z',
  '+00:00',
  '-00:00',
  '+0000',
  '+00',
  'gmt',
  'etc/gmt',
]);

/** Whether days and hours of a timestamp are those of UTC, as they are without a zone. */
function isUtc(type: DataType): boolean {
  const zone = familyOf(type) === 'timestamp' ? ((type as Timestamp).timezone ?? '') : '';
  return zone === '' || utc.has(zone.toLowerCase());
}

/** Whether a type is a timestamp with a zone. */
export function isZoned(type: DataType): boolean {
  return familyOf(type) === 'timestamp' && Boolean((type as Timestamp).timezone);
}

const second = 1_000_000_000n;
/** Range around a local time in which the offset of a zone changes at most once, in seconds. */
const AROUND = 86_400;

/** Converts between instants and local times of a zone, both in nanoseconds since 1970. */
export class ZoneClock {
  readonly #offset: ZoneOffset;

  constructor(offset: ZoneOffset) {
    this.#offset = offset;
  }

  /** Whole seconds that the clocks are ahead of UTC at a moment. */
  offset(moment: bigint): number {
    return this.#offset(Number(floorDivide(moment, second)));
  }

  /** The local time at a moment. */
  local(moment: bigint): bigint {
    return moment + BigInt(this.offset(moment)) * second;
  }

  /** The one moment at which the clocks show a time; undefined for a time that they leave out, or show twice. */
  moment(time: bigint): bigint | undefined {
    const [first, ...more] = this.#moments(time);
    return more.length === 0 ? first : undefined;
  }

  /**
   * A moment at which the clocks show a time. One that they leave out is as much later as they
   * leave out; of two moments it is the one with the offset that `origin` has, else the later.
   */
  nearest(time: bigint, origin: bigint): bigint {
    const found = this.#moments(time);
    const unchanged = this.offset(origin);
    const [before] = this.#offsetsAround(time);
    return (
      found.find((moment) => this.offset(moment) === unchanged) ??
      found.at(-1) ??
      time - BigInt(before) * second
    );
  }

  /** At most two, the earlier first. */
  #moments(time: bigint): readonly bigint[] {
    const [before, after] = this.#offsetsAround(time);
    const offsets = before === after ? [before] : [before, after];
    return offsets.flatMap((offset) => {
      const moment = time - BigInt(offset) * second;
      return this.offset(moment) === offset ? [moment] : [];
    });
  }

  #offsetsAround(time: bigint): readonly [before: number, after: number] {
    const at = Number(floorDivide(time, second));
    return [this.#offset(at - AROUND), this.#offset(at + AROUND)];
  }
}

/** Zones are few, and their offsets are expensive to compute. */
const MOST_CLOCKS = 8;
const clocks = new Map<string, ZoneClock>();

function clockOfZone(zone: string): ZoneClock | undefined {
  const cached = clocks.get(zone);
  if (cached !== undefined) return cached;
  const offset = zoneOffset(zone);
  if (offset === undefined) return undefined;
  if (clocks.size >= MOST_CLOCKS) clocks.clear();
  const clock = new ZoneClock(offset);
  clocks.set(zone, clock);
  return clock;
}

/** Whether days and hours of a type depend on a zone other than UTC. */
export function hasClock(type: DataType): boolean {
  return !isUtc(type);
}

/**
 * The clocks of a timestamp's zone; undefined for UTC, and for what has no zone.
 * Throws SqlError `type` for an unknown zone.
 */
export function clockOf(type: DataType, position = 1): ZoneClock | undefined {
  if (!hasClock(type)) return undefined;
  const clock = clockOfZone((type as Timestamp).timezone ?? '');
  if (clock !== undefined) return clock;
  const found = sqlTypeName(type);
  throw new SqlError('type', `expected a time zone that is known, found ${found}`, position);
}

/** Whether a cast reads its values as local times of the target zone. */
export function readsClock(from: DataType, to: DataType): boolean {
  const family = familyOf(from);
  const counted = family === 'text' || family === 'date' || isPlainStamp(from);
  return counted && hasClock(to);
}

/** Whether a cast returns local times of the source zone. */
function showsClock(from: DataType, to: DataType): boolean {
  const family = familyOf(to);
  const shown = family === 'text' || family === 'time' || (family === 'date' && isDay(to));
  return hasClock(from) && shown;
}

/** A date64 is an instant too. */
function isDay(type: DataType): boolean {
  return stepOf(type) === dayNanoseconds;
}

/** Whether a type is a timestamp without a zone. */
export function isPlainStamp(type: DataType): boolean {
  return familyOf(type) === 'timestamp' && !(type as Timestamp).timezone;
}

/**
 * The clocks by which a cast from one type to another goes; undefined where none count, as
 * between moments of two zones, which stay what they are. Throws SqlError as `clockOf` does.
 */
export function clockOfCast(from: DataType, to: DataType, position = 1): ZoneClock | undefined {
  if (readsClock(from, to)) return clockOf(to, position);
  return showsClock(from, to) ? clockOf(from, position) : undefined;
}

/** Throws SqlError `type` if a cast needs an unknown zone. */
export function checkClocks(from: DataType, to: DataType, position: number): void {
  const [a, b] = [familyOf(from), familyOf(to)];
  if (a === 'list') {
    checkClocks(elementType(from), b === 'list' ? elementType(to) : to, position);
  } else if (a === 'struct' && b === 'struct') {
    for (const { name, type } of to.children) {
      const field = from.children.find((each) => each.name === name);
      if (field !== undefined) checkClocks(field.type, type, position);
    }
  } else if (a === 'map' && b === 'map') {
    mapTypes(from).forEach((type, at) => checkClocks(type, mapTypes(to)[at]!, position));
  } else {
    clockOfCast(from, to, position);
  }
}
