import { CatalogError } from '../../../protocol/errors.ts';
import type { Permit } from '../../../protocol/permit.ts';
import type { CatalogRequest } from '../../../protocol/backend.ts';
import { refusedUnderRestrictions, type Restrictions } from '../../../protocol/restrictions.ts';

/** What binds the caller of a request on its object, and how its operation meets it. */
export interface RestrictedCall {
  readonly request: CatalogRequest;
  readonly permit: Permit;
}

/**
 * Whether restrictions bind a caller on the object of the route, whose operation may be done then.
 * The gateway has judged the same; a handler that does not apply restrictions is not reached either way.
 * @throws CatalogError PermissionDenied for an operation that is refused then
 */
export function isRestricted({ request, permit }: RestrictedCall): boolean {
  const restrictions = permit.restrictionsOn(request.object);
  if (restrictions === null) return false;
  if (request.operation.restricted === 'refused') throw notApplied(request, permit, restrictions);
  return true;
}

/** The refusal of an operation to which restrictions are not applied. */
export function notApplied(
  { operation, object }: CatalogRequest,
  { principal }: Permit,
  { names }: Restrictions,
  why?: string,
): CatalogError {
  const sentence = refusedUnderRestrictions(principal.subject, operation.name, object, names);
  return new CatalogError('PermissionDenied', why === undefined ? sentence : `${sentence}: ${why}`);
}
