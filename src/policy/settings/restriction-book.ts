import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Principal } from '../../protocol/principal.ts';
import type {
  Canary,
  RestrictedColumn,
  Restrictions,
  RowFilter,
} from '../../protocol/restrictions.ts';
import { noRoles, type Roles } from '../lines/packed-roles.ts';
import { intersect, patternMatches, subtreeOf } from '../lines/pattern.ts';
import { PrincipalViews } from '../lines/principal-views.ts';
import { withoutCanaries } from './canaries.ts';
import { formatMask } from './masks.ts';
import { RESTRICTIONS_FILE, type WrittenRestriction } from './restrictions.ts';
import { withRowValues } from './row-values.ts';

const NONE: readonly WrittenRestriction[] = [];

/** The restrictions of a policy, found by caller and table. */
export class RestrictionBook {
  static readonly empty = new RestrictionBook([], noRoles);

  readonly restrictions: readonly WrittenRestriction[];
  readonly #views: PrincipalViews<readonly WrittenRestriction[]>;

  constructor(restrictions: readonly WrittenRestriction[], roles: Roles) {
    this.restrictions = restrictions;
    this.#views = new PrincipalViews(roles, (names) => {
      const meets = (some: readonly string[]) => some.some((name) => names.has(name));
      return restrictions.flatMap((one) => {
        if (meets(one.except)) return [];
        if (one.subjects === null || meets(one.subjects)) return [one];
        return one.canary === undefined ? [] : [{ ...one, rows: null, columns: [] }];
      });
    });
  }

  /** The restrictions that bind a principal on a table. The root of the catalog is no table. */
  binding(principal: Principal, object: ObjectPath): readonly WrittenRestriction[] {
    if (this.restrictions.length === 0 || object.length === 0) return NONE;
    return this.#views
      .of(principal)
      .extra.filter(({ patterns }) => patterns.some((each) => patternMatches(each, object)));
  }

  /** Whether a restriction may bind a principal on an object or on something below it. */
  bindsBelow(principal: Principal, object: ObjectPath): boolean {
    if (this.restrictions.length === 0) return false;
    const region = subtreeOf(object);
    return this.#views
      .of(principal)
      .extra.some(({ patterns }) => patterns.some((each) => intersect(each, region) !== undefined));
  }
}

/** The name of a restriction where policy lines are named. */
export function restrictionRule({ line }: WrittenRestriction): string {
  return `${RESTRICTIONS_FILE}:${line}`;
}

/** A restriction for people and programs that read a policy. */
export interface RestrictionSummary {
  readonly name: string;
  /** `restrictions.yaml:LINE`. */
  readonly rule: string;
  /** The SQL as it is written; null for all rows. */
  readonly rows: string | null;
  /** By column: `hidden`, or the mask with its parameter, such as `last (3)`. */
  readonly columns: Readonly<Record<string, string>>;
  /** The SQL of its canaries as it is written; absent if it has none. */
  readonly canary?: string;
  /** Whether a query for a canary freezes the API key. */
  readonly freeze?: boolean;
}

export function summaryOfRestriction(restriction: WrittenRestriction): RestrictionSummary {
  const { name, rows, columns, canary } = restriction;
  const masked = columns.map(({ column, as }) => [column, formatMask(as)] as const);
  return {
    name,
    rule: restrictionRule(restriction),
    rows,
    columns: Object.fromEntries(masked),
    ...(canary === undefined ? {} : { canary: canary.sql, freeze: canary.freeze }),
  };
}

/**
 * What some restrictions mean for a caller. Row filters add up, `hidden` is stronger than every mask,
 * and of several masks of a column the first counts.
 * @param context Of the context only what the caller did not choose.
 */
export function restrictionsFor(
  bound: readonly WrittenRestriction[],
  { subject, groups, roles }: Principal,
  context: ReadonlyMap<string, string>,
): Restrictions {
  const values = { subject, groups, roles, context };
  const rows = bound.flatMap(({ name: restriction, rows: sql, canary }): readonly RowFilter[] => [
    ...(sql === null ? [] : [{ restriction, sql: withRowValues(sql, values) }]),
    ...(canary === undefined ? [] : [{ restriction, sql: withoutCanaries(canary) }]),
  ]);
  const canaries = bound.flatMap(({ name: restriction, canary }): readonly Canary[] =>
    canary === undefined ? [] : [{ restriction, keys: canary.keys, freeze: canary.freeze }],
  );
  return {
    names: bound.map(({ name }) => name),
    rows,
    columns: columnsUnder(bound),
    ...(canaries.length === 0 ? {} : { canaries }),
  };
}

/** The columns that restrictions mask or hide, each once. */
export function columnsUnder(bound: readonly WrittenRestriction[]): readonly RestrictedColumn[] {
  const columns = new Map<string, RestrictedColumn>();
  for (const { name: restriction, columns: own } of bound) {
    for (const { column, as } of own) {
      if (columns.has(column) && as !== 'hidden') continue;
      columns.set(column, { restriction, column, as });
    }
  }
  return [...columns.values()];
}
