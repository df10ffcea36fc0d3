import { MOMENTS, typedMoment } from '../../protocol/moment.ts';
import { UsageError } from './service-error.ts';
import type { Zone } from './zone.ts';

/**
 * Microseconds since 1970 of a typed time.
 * @param now Milliseconds since 1970.
 * @throws UsageError
 */
export function momentOf(flag: string, typed: string, zone: Zone, now: number): bigint {
  const micros = typedMoment(typed, zone, now);
  if (micros !== undefined) return micros;
  throw new UsageError(`${flag} is ${JSON.stringify(typed)}, but must be ${MOMENTS}`);
}
