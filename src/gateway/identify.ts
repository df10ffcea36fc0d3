import { DATABASE_HEADER } from '../protocol/database.ts';
import { CatalogError } from '../protocol/errors.ts';
import type { Principal } from '../protocol/principal.ts';
import type { Identification } from './identity/identification.ts';
import { advance } from './passage.ts';
import type { Identified, Routed } from './decision/steps.ts';

/**
 * Identifies the caller. Synchronous where possible, so that a cached caller waits for
 * nothing.
 * @throws CatalogError as `Identification.principalOf` does, also by the promise; PermissionDenied for
 * an unknown database; only identified callers learn that it does not exist
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

/** The context of a request, in which that of the credential overrides the headers. */
function contextUnder({ context: own }: Principal, sent: Routed['context']): Routed['context'] {
  return own === undefined ? sent : new Map([...sent, ...own]);
}

function identified(routed: Routed, principal: Principal): Identified {
  const { unknownDatabase } = routed;
  const found = { principal, context: contextUnder(principal, routed.context) };
  if (unknownDatabase === undefined) return advance(routed, found);
  advance(routed, found);
  throw new CatalogError(
    'PermissionDenied',
    `there is no database ${JSON.stringify(unknownDatabase)}; ${DATABASE_HEADER} must name one of the configuration`,
  );
}
