import type { Principal } from '../protocol/principal.ts';

/** Whether two credentials give the same names and rights; the credentials themselves may differ. */
export function samePrincipal(one: Principal, other: Principal): boolean {
  return namesOf(one) === namesOf(other);
}

function namesOf(principal: Principal): string {
  const scopes = principal.scopes?.map((scope) => `${scope.action}:${scope.pattern}`);
  return JSON.stringify([
    principal.subject,
    principal.groups.toSorted(),
    principal.roles.toSorted(),
    scopes?.toSorted() ?? null,
  ]);
}
