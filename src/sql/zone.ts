import type { DataType, Timestamp } from 'apache-arrow';
import { SqlError } from './errors.ts';
import { familyOf, typeName } from './types.ts';

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

/** Whether a timestamp's days and hours are those of UTC. Without a zone they count as such. */
export function isUtc(type: DataType): boolean {
  const zone = familyOf(type) === 'timestamp' ? ((type as Timestamp).timezone ?? '') : '';
  return zone === '' || utc.has(zone.toLowerCase());
}

/** Whether a type is a timestamp with a zone. */
export function isZoned(type: DataType): boolean {
  return familyOf(type) === 'timestamp' && Boolean((type as Timestamp).timezone);
}

/**
 * Throws SqlError `type` for a timestamp whose zone is another than UTC: its
 * days begin elsewhere, and an answer in UTC would be silently wrong.
 */
export function requireUtc(type: DataType, where: string, position: number): void {
  if (!isUtc(type)) {
    throw new SqlError(
      'type',
      `expected a timestamp in UTC where ${where}, found ${typeName(type)}`,
      position,
    );
  }
}
