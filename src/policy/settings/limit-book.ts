import type { ObjectPath } from '../../protocol/identifier.ts';
import type { OperationName } from '../../protocol/operations/operation-name.ts';
import type { Principal } from '../../protocol/principal.ts';
import type { Limit } from './limit.ts';
import { patternMatches } from '../lines/pattern.ts';
import { noRoles, type Roles } from '../lines/packed-roles.ts';
import { PrincipalViews } from '../lines/principal-views.ts';
import { rightsOf } from '../lines/rights.ts';

/** The limits that a request is counted by. */
export interface LimitsOn {
  readonly limits: readonly Limit[];
  /** The groups of the caller, by its credential or by the policy. */
  readonly groups: readonly string[];
  /** Whether the same is found again for callers of the same names and the same operation. */
  readonly isKept: boolean;
}

interface View {
  readonly limits: readonly Limit[];
  readonly groups: readonly string[];
  /** Results for operations where no object is distinguished. */
  readonly found: Map<OperationName, LimitsOn>;
}

const NONE: LimitsOn = { limits: [], groups: [], isKept: true };

/** The limits of a policy, found by caller, operation and object. */
export class LimitBook {
  static readonly empty = new LimitBook([], noRoles);

  readonly limits: readonly Limit[];
  readonly #views: PrincipalViews<View>;

  constructor(limits: readonly Limit[], roles: Roles) {
    this.limits = limits;
    this.#views = new PrincipalViews(roles, (names) => ({
      limits: limits.filter(({ subjects }) => subjects === null || meets(subjects, names)),
      groups: [...names].filter((name) => name.startsWith('group:')),
      found: new Map(),
    }));
  }

  /** The limits of a caller on an object; cached if no object is distinguished. */
  on(principal: Principal, operation: OperationName, object: ObjectPath): LimitsOn {
    if (this.limits.length === 0) return NONE;
    const { limits, groups, found } = this.#views.of(principal).extra;
    const cached = found.get(operation);
    if (cached !== undefined) return cached;
    const right = rightsOf(operation);
    const own = limits.filter(({ rights }) => right.within(rights));
    if (own.every(isOnEverything)) {
      const on = { limits: own, groups, isKept: true };
      found.set(operation, on);
      return on;
    }
    return {
      limits: own.filter(({ objects }) =>
        objects.some((pattern) => patternMatches(pattern, object)),
      ),
      groups,
      isKept: false,
    };
  }
}

function isOnEverything({ objects }: Limit): boolean {
  return objects.some(({ segments, below }) => below && segments.length === 0);
}

function meets(subjects: ReadonlySet<string>, names: ReadonlySet<string>): boolean {
  for (const subject of subjects) if (names.has(subject)) return true;
  return false;
}
