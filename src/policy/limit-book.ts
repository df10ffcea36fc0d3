import type { ObjectPath } from '../protocol/identifier.ts';
import type { OperationName } from '../protocol/operation-name.ts';
import type { Principal } from '../protocol/principal.ts';
import type { Limit } from './limit.ts';
import { patternMatches } from './pattern.ts';
import type { RoleLine } from './policy-line.ts';
import { PrincipalViews } from './principal-views.ts';
import { rightsOf } from './rights.ts';
import { RoleGraph } from './role-graph.ts';

/** The limits that a request is counted by. */
export interface LimitsOn {
  readonly limits: readonly Limit[];
  /** The groups of the caller, by its credential or by the policy. */
  readonly groups: readonly string[];
}

interface View {
  readonly limits: readonly Limit[];
  readonly groups: readonly string[];
}

const NONE: LimitsOn = { limits: [], groups: [] };

/** The limits of a policy, found by caller, operation and object. */
export class LimitBook {
  static readonly empty = new LimitBook([], []);

  readonly limits: readonly Limit[];
  readonly #views: PrincipalViews<View>;

  constructor(limits: readonly Limit[], roles: readonly RoleLine[]) {
    this.limits = limits;
    this.#views = new PrincipalViews(new RoleGraph(roles), (names) => ({
      limits: limits.filter(({ subjects }) => subjects === null || meets(subjects, names)),
      groups: [...names].filter((name) => name.startsWith('group:')),
    }));
  }

  /** The limits on what a caller does to an object. */
  on(principal: Principal, operation: OperationName, object: ObjectPath): LimitsOn {
    if (this.limits.length === 0) return NONE;
    const { limits, groups } = this.#views.of(principal).extra;
    const right = rightsOf(operation)!;
    return {
      limits: limits.filter(
        ({ rights, objects }) =>
          right.within(rights) && objects.some((pattern) => patternMatches(pattern, object)),
      ),
      groups,
    };
  }
}

function meets(subjects: ReadonlySet<string>, names: ReadonlySet<string>): boolean {
  for (const subject of subjects) if (names.has(subject)) return true;
  return false;
}
