import { DATABASE_HEADER } from '../protocol/database.ts';
import { CatalogError } from '../protocol/errors.ts';
import type { Principal } from '../protocol/principal.ts';
import type { Identification } from './identity/identification.ts';
import { advance } from './passage.ts';
import type { Identified, Routed } from './decision/steps.ts';

/**
 * Identifies the caller. Synchronously where possible, so that a request whose
 * caller is known waits for nothing.
 * @throws CatalogError as `Identification.principalOf` does, also by the promise; PermissionDenied for
 * a database that there is not, which strangers are not told
 */
export function identify(
  routed: Routed,
  identification: Identification,
): Identified | Promise<Identified> {
  const principal = identification.principalOf(routed);
  return principal instanceof Promise
    ? principal.then((found) => identified(routed, found))
    : identified(routed, principal);
}

function identified(routed: Routed, principal: Principal): Identified {
  const { unknownDatabase } = routed;
  if (unknownDatabase === undefined) return advance(routed, { principal });
  advance(routed, { principal });
  throw new CatalogError(
    'PermissionDenied',
    `there is no database ${JSON.stringify(unknownDatabase)}; ${DATABASE_HEADER} must name one of the configuration`,
  );
}
