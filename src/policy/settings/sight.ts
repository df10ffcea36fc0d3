import { normalText } from '../../sql/normal-text.ts';
import { columnsUnder, restrictionRule } from './restriction-book.ts';
import { formatMask } from './masks.ts';
import type { WrittenRestriction } from './restrictions.ts';

/** Whether a caller sees less of a table, more of it, or something that is neither. */
export type SightDirection = 'fewer' | 'more' | 'other';

/** A difference in what one caller sees of one table. */
export interface SightChange {
  readonly direction: SightDirection;
  /** The column; null for the rows. */
  readonly column: string | null;
  /** The row filters as they are written, or `all`; of a column its mask, `hidden` or `shown`. */
  readonly was: string;
  readonly now: string;
  /** A restriction of the later policy, or `null` if none is left. */
  readonly rule: string | null;
}

/** Restrictions that bind a caller on a table, before and after a change of the policy. */
type Bound = readonly WrittenRestriction[];

/**
 * Compares what a caller sees under two sets of restrictions: the rows first, then columns by name. Row filters are
 * compared as texts: one more hides more, and others are `other`.
 */
export function sightChanges(before: Bound, after: Bound): readonly SightChange[] {
  return [...rowChanges(before, after), ...columnChanges(before, after)];
}

/** The direction of all changes together; undefined if there is none. */
export function directionOf(changes: readonly SightChange[]): SightDirection | undefined {
  const [first, ...others] = new Set(changes.map(({ direction }) => direction));
  return others.length === 0 ? first : 'other';
}

function rowChanges(before: Bound, after: Bound): readonly SightChange[] {
  const [old, next] = [filtersOf(before), filtersOf(after)];
  const lost = [...old.keys()].some((text) => !next.has(text));
  const added = [...next].find(([text]) => !old.has(text));
  if (!lost && added === undefined) return [];
  const direction = !lost ? 'fewer' : added === undefined ? 'more' : 'other';
  const { rule = null } = added?.[1] ?? [...next.values()][0] ?? {};
  return [{ direction, column: null, was: filterText(old), now: filterText(next), rule }];
}

/** A row filter as it is written, and its restriction. */
interface WrittenFilter {
  readonly text: string;
  readonly rule: string;
}

/** Row filters by their normalised texts. */
function filtersOf(bound: Bound): ReadonlyMap<string, WrittenFilter> {
  return new Map(
    bound.flatMap((one) => {
      const { rows, canary } = one;
      const hidden = canary === undefined ? [] : [`NOT (${canary.sql})`];
      const texts = [...(rows === null ? [] : [rows]), ...hidden];
      const rule = restrictionRule(one);
      return texts.map((text): [string, WrittenFilter] => [normalText(text), { text, rule }]);
    }),
  );
}

function filterText(filters: ReadonlyMap<string, WrittenFilter>): string {
  if (filters.size === 0) return 'all';
  const texts = [...filters.values()].map(({ text }) => text);
  return texts.toSorted().join(' AND ');
}

const SHOWN = 'shown';

function columnChanges(before: Bound, after: Bound): readonly SightChange[] {
  const [old, next] = [masksOf(before), masksOf(after)];
  const names = [...new Set([...old.keys(), ...next.keys()])].toSorted();
  return names.flatMap((column) => {
    const [was, now] = [old.get(column)?.as ?? SHOWN, next.get(column)?.as ?? SHOWN];
    if (was === now) return [];
    const rule = next.get(column)?.rule ?? null;
    return [{ direction: columnDirection(was, now), column, was, now, rule }];
  });
}

/** Two masks are not compared with each other. */
function columnDirection(was: string, now: string): SightDirection {
  const [old, next] = [strength(was), strength(now)];
  if (old !== next) return next > old ? 'fewer' : 'more';
  return 'other';
}

function strength(as: string): number {
  return as === SHOWN ? 0 : as === 'hidden' ? 2 : 1;
}

function masksOf(
  bound: Bound,
): ReadonlyMap<string, { readonly as: string; readonly rule: string | null }> {
  const rules = new Map(bound.map((one) => [one.name, restrictionRule(one)]));
  return new Map(
    columnsUnder(bound).map(({ column, as, restriction }) => [
      column,
      { as: formatMask(as), rule: rules.get(restriction) ?? null },
    ]),
  );
}
