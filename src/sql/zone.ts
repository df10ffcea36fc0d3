import type { DataType, Timestamp } from 'apache-arrow';
import { familyOf } from './types.ts';

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
