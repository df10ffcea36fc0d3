import type { CatalogRequest } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { normalMode } from '../../protocol/mode.ts';

/**
 * The mode in the query of a request whose body is Arrow.
 * @throws CatalogError InvalidInput for a mode that is not known.
 */
export function queryMode<Mode extends string>(
  request: CatalogRequest,
  known: readonly Mode[],
  absent: Mode,
): Mode {
  const given = request.query.get('mode')?.[0];
  if (given === undefined) return absent;
  const mode = known.find((candidate) => candidate === normalMode(given));
  if (mode !== undefined) return mode;
  throw new CatalogError(
    'InvalidInput',
    `mode must be one of ${known.join(', ')}, not ${JSON.stringify(given)}`,
  );
}
