import type { Principal } from '../protocol/principal.ts';
import type { Identification } from './identification.ts';
import { grown } from './passage.ts';
import type { Identified, Routed } from './steps.ts';

/**
 * Finds out who asks. At once where that can be, so that a request whose
 * caller is known waits for nothing.
 * @throws CatalogError as `Identification.principalOf` does, also by the promise
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
  return grown(routed, { principal });
}
