declare const reason: unique symbol;

/** Why restrictions cannot be applied to a request; the end of its refusal. Only `restrictionReasons` makes one. */
export type RestrictionReason = string & { readonly [reason]: true };

const said = (text: string) => text as RestrictionReason;

/**
 * Every reason for which a request of a bound caller is refused with 403 code 15. `docs/guide/restrictions.md` has each
 * sentence, with `NAME` and `N` for what differs; a test compares both.
 */
export const restrictionReasons = {
  rowsElsewhere: () => said('its rows are not kept by this engine'),
  location: () => said('its location would give its files'),
  credentials: () => said('credentials would give all rows of its files'),
  lanceText: () => said('scores of a text search of a Lance table count hidden rows; use a filter'),
  lanceMerge: () =>
    said(
      'a merge of a Lance table would meet the keys of hidden rows; use an update and an insert',
    ),
  lanceRows: (count: number | string, most: number) =>
    said(
      `it would change ${count} rows, and of a Lance table at most ${most} can be changed at once: narrow the predicate`,
    ),
  lanceValueOfRow: (column: string) =>
    said(
      `the value of ${column} depends on the row, and an update of a Lance table takes the same value for all rows`,
    ),
  lanceValueType: (column: string) =>
    said(
      `the value of ${column} is no number, text or boolean, and an update of a Lance table takes no other values`,
    ),
  commitRule: (rule: string) => said(`the commit rule ${rule} would tell of what is hidden`),
  overwrite: () => said('an overwrite would remove hidden rows'),
  properties: () => said('properties are those of the whole table'),
  restrictedColumn: (column: string) =>
    said(`the column ${column} is masked or hidden, and is not written`),
  unfilledColumn: (column: string) =>
    said(`the column ${column} is masked or hidden, and may not be null`),
  computedColumn: (column: string) =>
    said(`the computed column ${column} depends on it, and on a column that is masked or hidden`),
  filterColumn: () => said('a row filter depends on it, and on a column that is masked or hidden'),
} as const;
