import type { RestrictionReason } from '../../../protocol/restriction-reasons.ts';
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
 * The restrictions that bind a caller on the object of the route, whose operation may be done then; null for none.
 * The gateway has judged the same; a handler that does not apply restrictions is not reached either way.
 * @throws CatalogError PermissionDenied for an operation that is refused then
 */
export function requiredRestrictions({ request, permit }: RestrictedCall): Restrictions | null {
  const restrictions = permit.restrictionsOn(request.object);
  if (restrictions === null) return null;
  if (request.operation.restricted === 'refused') throw notApplied(request, permit, restrictions);
  return restrictions;
}

/** The refusal of an operation to which restrictions are not applied. */
export function notApplied(
  { operation, object }: CatalogRequest,
  { principal }: Permit,
  { names }: Restrictions,
  why?: RestrictionReason,
): CatalogError {
  const sentence = refusedUnderRestrictions(principal.subject, operation.name, object, names);
  return new CatalogError('PermissionDenied', why === undefined ? sentence : `${sentence}: ${why}`);
}
