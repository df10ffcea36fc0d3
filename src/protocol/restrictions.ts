import { canonicalPath, type ObjectPath } from './identifier.ts';
import type { OperationName } from './operations/operation-name.ts';
import { restrictionReasons } from './restriction-reasons.ts';

/** How the values of a column are replaced. */
export type Mask =
  | { readonly mask: 'null' | 'sha256' | 'alphanum' | 'year' | 'month' }
  | { readonly mask: 'constant'; readonly value: string | number | boolean }
  /** `n` characters are kept. */
  | { readonly mask: 'first' | 'last'; readonly n: number }
  /** Numbers become multiples of `to`. */
  | { readonly mask: 'round'; readonly to: number };

/** A condition on rows: a row is visible if it is true. */
export interface RowFilter {
  /** Name of the restriction. */
  readonly restriction: string;
  /** SQL over the columns of the table. The values of the caller are literals in it. */
  readonly sql: string;
}

/** Rows that nobody should ask for. */
export interface Canary {
  /** Name of the restriction. */
  readonly restriction: string;
  /** Values of columns, as `literalKeys` finds them, that name such rows. */
  readonly keys: readonly (readonly { readonly column: string; readonly value: string }[])[];
  /** Whether the API key of a caller who asks for one is frozen. */
  readonly freeze: boolean;
}

/** A column that the caller sees masked or not at all. */
export interface RestrictedColumn {
  /** Name of the restriction that decides. */
  readonly restriction: string;
  readonly column: string;
  readonly as: Mask | 'hidden';
}

/** What binds one caller on one table: plain data. */
export interface Restrictions {
  /** Names of the restrictions, in the order of the file. */
  readonly names: readonly string[];
  /** A row is visible if all of them are true. */
  readonly rows: readonly RowFilter[];
  /** Each column once. */
  readonly columns: readonly RestrictedColumn[];
  /** Absent if there are none. Their rows are hidden by `rows`. */
  readonly canaries?: readonly Canary[];
}

const texts = new WeakMap<Restrictions, string>();

/** Restrictions as a text that is the same for equal ones, for keys of caches. */
export function textOfRestrictions(restrictions: Restrictions): string {
  let text = texts.get(restrictions);
  if (text === undefined) texts.set(restrictions, (text = JSON.stringify(restrictions)));
  return text;
}

/**
 * The refusal of a right for a caller whom restrictions bind.
 * @param asked The operation of the request, if it needs the right in addition to its own.
 */
export function refusedUnderRestrictions(
  subject: string,
  action: string,
  object: ObjectPath,
  names: readonly string[],
  asked: string = action,
): string {
  const known = asked === action ? reasons : additionalReasons;
  const why = Object.hasOwn(known, asked) ? `: ${known[asked]}` : '';
  return `${subject} may not ${action} on ${canonicalPath(object)}: ${listed(names)} cannot be applied to it${why}`;
}

/** Why restrictions cannot be applied to an operation, where that is not obvious. */
const reasons: Readonly<Record<string, string>> = {
  GetTableStats: 'its bytes and fragments are those of hidden rows, too; count the rows instead',
  CloneTable: 'a clone would have the hidden rows',
  RestoreTable: 'it would change hidden rows',
  AlterTableBackfillColumns: 'it would compute values of hidden rows',
  CreateTableIndex: 'an index covers hidden rows',
  CreateTableScalarIndex: 'an index covers hidden rows',
};

/** The same for the rights that a mode or an object in the body needs, by the operation that asks for them. */
const additionalReasons: Readonly<Record<string, string>> = {
  CloneTable: reasons['CloneTable']!,
  DescribeTable: restrictionReasons.credentials(),
  InsertIntoTable: restrictionReasons.overwrite(),
};

/** The refusal of rows that would be hidden from the caller who makes them. */
export function hiddenRowMade(
  subject: string,
  operation: string,
  object: ObjectPath,
  names: readonly string[],
): string {
  return `${subject} may not ${operation} on ${canonicalPath(object)}: ${listed(names)} would hide one of the rows; send only rows that you may see`;
}

/** The refusal of a table to which restrictions cannot be applied. */
export function closedByRestriction(name: string, object: ObjectPath): string {
  return `the restriction ${name} closes ${canonicalPath(object)}: it does not fit the columns of the table, or a row; an administrator can correct it`;
}

function listed(names: readonly string[]): string {
  return `the ${names.length === 1 ? 'restriction' : 'restrictions'} ${names.join(', ')}`;
}

/** What a route asks for: the only right on a restricted table that a request can have. */
export interface RoutedAction {
  readonly operation: OperationName;
  readonly object: ObjectPath;
}
