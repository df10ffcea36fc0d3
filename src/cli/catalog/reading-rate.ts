import { parseSize } from '../../protocol/units.ts';
import { UsageError } from '../output/service-error.ts';

/** Bytes that `catalog verify --deep` reads in a second, if the command line does not say. */
export const USUAL_RATE = '100MiB';
/** A lower rate would wait for seconds between two reads. */
const LEAST_RATE = 2 ** 16;

/** Parses `--rate`: bytes that are read in a second, 0 for no limit. @throws UsageError */
export function rateOf(typed: string): number {
  const bytes = parseSize(typed);
  if (bytes !== undefined && (bytes === 0 || bytes >= LEAST_RATE)) return bytes;
  throw new UsageError(
    `--rate is ${JSON.stringify(typed)}, but must be the bytes to read in a second: a size of at least 64KiB such as ${USUAL_RATE}, or 0 for no limit`,
  );
}
