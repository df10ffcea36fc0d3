import type { Principal } from '../../protocol/principal.ts';
import { BoundedCache } from './bounded-cache.ts';
import type { Roles } from './packed-roles.ts';
import { compileScopes, type CompiledScope } from './scopes.ts';
import { EVERYONE } from './pattern.ts';

/** How many different principals are kept. */
const CACHED_PRINCIPALS = 4096;

/** The policy's view of a principal. */
export interface PrincipalView<Extra> {
  /** Every name that a line may be about for it to apply: its own, everyone, and their roles to any depth. */
  readonly names: ReadonlySet<string>;
  /** Undefined if the credential is not narrowed. */
  readonly scopes: readonly CompiledScope[] | undefined;
  readonly extra: Extra;
}

/**
 * Cache of the most recent principals, each resolved once. The cache key is subject, groups, roles and
 * scopes, never the credential.
 */
export class PrincipalViews<Extra> {
  readonly #roles: Roles;
  readonly #extra: (names: ReadonlySet<string>) => Extra;
  readonly #seen = new WeakMap<Principal, PrincipalView<Extra>>();
  readonly #equal = new BoundedCache<string, PrincipalView<Extra>>(CACHED_PRINCIPALS);

  constructor(roles: Roles, extra: (names: ReadonlySet<string>) => Extra) {
    this.#roles = roles;
    this.#extra = extra;
  }

  of(principal: Principal): PrincipalView<Extra> {
    const seen = this.#seen.get(principal);
    if (seen !== undefined) return seen;
    const { subject, groups, roles, scopes } = principal;
    const key = JSON.stringify([subject, groups, roles, scopes?.map((s) => [s.action, s.pattern])]);
    const view = this.#equal.get(key, () => this.#resolve(principal));
    this.#seen.set(principal, view);
    return view;
  }

  #resolve({ subject, groups, roles, scopes }: Principal): PrincipalView<Extra> {
    const names = this.#roles.closure([subject, ...groups, ...roles, EVERYONE]);
    return {
      names,
      scopes: scopes === undefined ? undefined : compileScopes(scopes),
      extra: this.#extra(names),
    };
  }
}
