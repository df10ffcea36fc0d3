import { CatalogError } from '../../src/protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../../src/protocol/identifier.ts';
import type { Action } from '../../src/protocol/operations/operation.ts';
import type { Permit, VisibleNames } from '../../src/protocol/permit.ts';
import type { Principal } from '../../src/protocol/principal.ts';
import type { Restrictions } from '../../src/protocol/restrictions.ts';

const tester: Principal = {
  subject: 'user:tester',
  groups: [],
  roles: [],
  credential: { kind: 'key', id: 'tester00' },
};

/** What a permit for tests allows. Absent is everything. */
export interface PermitRules {
  readonly holds?: (action: Action, object: ObjectPath, branch?: string) => boolean;
  readonly holdsAlways?: (action: Action, object: ObjectPath) => boolean;
  readonly restrictionsOn?: (object: ObjectPath) => Restrictions | null;
  readonly sees?: (object: ObjectPath, kind: 'namespace' | 'table') => boolean;
  readonly holdsBelow?: (action: Action | 'see', object: ObjectPath) => boolean;
}

/** A permit that decides by two functions and remembers what it was asked for. */
export class TestPermit implements Permit {
  readonly principal = tester;
  readonly decisionId = 'decision-1';
  /** `DropTable /a/b` for each right that was required, in order; `DropTable /a/b@dev` on a branch. */
  readonly required: string[] = [];
  readonly #rules: PermitRules;

  constructor(rules: PermitRules = {}) {
    this.#rules = rules;
  }

  restrictionsOn(object: ObjectPath): Restrictions | null {
    return this.#rules.restrictionsOn?.(object) ?? null;
  }

  require(action: Action, object: ObjectPath, branch?: string): void {
    const where = branch === undefined ? '' : `@${branch}`;
    this.required.push(`${action} ${canonicalPath(object)}${where}`);
    if (this.holds(action, object, branch)) return;
    throw new CatalogError(
      'PermissionDenied',
      `user:tester may not ${action} on ${canonicalPath(object)}`,
    );
  }

  holds(action: Action, object: ObjectPath, branch?: string): boolean {
    return this.#rules.holds?.(action, object, branch) ?? true;
  }

  holdsOnBranches(action: Action, object: ObjectPath): boolean {
    return this.holds(action, object);
  }

  holdsAlways(action: Action, object: ObjectPath): boolean {
    return this.#rules.holdsAlways?.(action, object) ?? this.holds(action, object);
  }

  sees(object: ObjectPath, kind: 'namespace' | 'table'): boolean {
    return this.#rules.sees?.(object, kind) ?? true;
  }

  holdsBelow(action: Action | 'see', object: ObjectPath): boolean {
    return this.#rules.holdsBelow?.(action, object) ?? true;
  }

  show<Entry>(
    entries: readonly Entry[],
    object: (entry: Entry) => ObjectPath,
    kind: 'namespace' | 'table',
    name: (entry: Entry) => string,
  ): VisibleNames {
    const visible = entries.filter((entry) => this.sees(object(entry), kind)).map(name);
    return visible as readonly string[] as VisibleNames;
  }
}

/** A permit for everything. */
export function anything(): TestPermit {
  return new TestPermit();
}

/** Shows some tables, and the namespaces on the way to them, as a policy does. */
export function sightOf(tables: readonly ObjectPath[]): NonNullable<PermitRules['sees']> {
  const paths = new Set(tables.map(canonicalPath));
  const namespaces = new Set(
    tables.flatMap((path) => path.map((_, length) => canonicalPath(path.slice(0, length)))),
  );
  return (object, kind) => (kind === 'table' ? paths : namespaces).has(canonicalPath(object));
}

/** A permit that shows some tables only. */
export function seeingOnly(tables: readonly ObjectPath[]): TestPermit {
  return new TestPermit({ sees: sightOf(tables) });
}
