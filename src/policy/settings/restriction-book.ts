import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Principal } from '../../protocol/principal.ts';
import type {
  Canary,
  RestrictedColumn,
  Restrictions,
  RowFilter,
} from '../../protocol/restrictions.ts';
import { BoundedCache } from '../lines/bounded-cache.ts';
import { noRoles, type Roles } from '../lines/packed-roles.ts';
import { intersect, patternMatches, subtreeOf } from '../lines/pattern.ts';
import { PrincipalViews } from '../lines/principal-views.ts';
import { withoutCanaries } from './canaries.ts';
import { formatMask } from './masks.ts';
import { RESTRICTIONS_FILE, type WrittenRestriction } from './restrictions.ts';
import { isOfCaller, withRowValues } from './row-values.ts';

const NONE: readonly WrittenRestriction[] = [];

const NO_CONTEXT: ReadonlyMap<string, string> = new Map();

/** How many tables are kept for each principal. */
const CACHED_TABLES = 64;
/** How many contexts are kept for each table of a principal. */
const CACHED_CONTEXTS = 16;

/** Restrictions of a principal. */
interface OfPrincipal {
  /** On all tables. */
  readonly all: readonly WrittenRestriction[];
  /** By the segments of a table, for the tables of recent requests. */
  readonly tables: BoundedCache<string, OfTable>;
}

/** Restrictions of a principal on a table, and their meaning by context. */
interface OfTable {
  readonly bound: readonly WrittenRestriction[];
  /** Their names. */
  readonly names: readonly string[];
  readonly namesContext: boolean;
  readonly meanings: BoundedCache<string, Restrictions>;
}

const FREE: OfTable = {
  bound: NONE,
  names: [],
  namesContext: false,
  meanings: new BoundedCache(1),
};

/** The restrictions of a policy, found by caller and table. */
export class RestrictionBook {
  static readonly empty = new RestrictionBook([], noRoles);

  readonly restrictions: readonly WrittenRestriction[];
  readonly #views: PrincipalViews<OfPrincipal>;

  constructor(restrictions: readonly WrittenRestriction[], roles: Roles) {
    this.restrictions = restrictions;
    this.#views = new PrincipalViews(roles, (names) => {
      const meets = (some: readonly string[]) => some.some((name) => names.has(name));
      const all = restrictions.flatMap((one) => {
        if (meets(one.except)) return [];
        if (one.subjects === null || meets(one.subjects)) return [one];
        return one.canary === undefined ? [] : [{ ...one, rows: null, columns: [] }];
      });
      return { all, tables: new BoundedCache(CACHED_TABLES) };
    });
  }

  /** The restrictions that bind a principal on a table. The root of the catalog is no table. */
  binding(principal: Principal, object: ObjectPath): readonly WrittenRestriction[] {
    if (this.restrictions.length === 0 || object.length === 0) return NONE;
    return this.#onTable(principal, object).bound;
  }

  /** Names of the restrictions that bind a principal on a table, in the order of the file. */
  namesOn(principal: Principal, object: ObjectPath): readonly string[] {
    if (this.restrictions.length === 0 || object.length === 0) return FREE.names;
    return this.#onTable(principal, object).names;
  }

  /**
   * The meaning of the restrictions that bind a principal on a table; null if none does. Equal questions
   * get the same object, so that results can be cached by it.
   * @param context Of the context only what the caller did not choose.
   */
  meaning(
    principal: Principal,
    object: ObjectPath,
    context: () => ReadonlyMap<string, string>,
  ): Restrictions | null {
    if (this.restrictions.length === 0 || object.length === 0) return null;
    const { bound, namesContext, meanings } = this.#onTable(principal, object);
    if (bound.length === 0) return null;
    const values = namesContext ? context() : NO_CONTEXT;
    const key = values.size === 0 ? '' : JSON.stringify([...values]);
    return meanings.get(key, () => restrictionsFor(bound, principal, values));
  }

  #onTable(principal: Principal, object: ObjectPath): OfTable {
    const { all, tables } = this.#views.of(principal).extra;
    if (all.length === 0) return FREE;
    // Names contain no control characters.
    return tables.get(object.join('\0'), () => {
      const bound = all.filter(({ patterns }) =>
        patterns.some((each) => patternMatches(each, object)),
      );
      const namesContext = bound.some(({ rows }) => rows !== null && isOfCaller(rows));
      const names = bound.map(({ name }) => name);
      return { bound, names, namesContext, meanings: new BoundedCache(CACHED_CONTEXTS) };
    });
  }

  /** Whether a restriction may bind a principal on an object or on something below it. */
  bindsBelow(principal: Principal, object: ObjectPath): boolean {
    if (this.restrictions.length === 0) return false;
    const region = subtreeOf(object);
    return this.#views
      .of(principal)
      .extra.all.some(({ patterns }) =>
        patterns.some((each) => intersect(each, region) !== undefined),
      );
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
function restrictionsFor(
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
