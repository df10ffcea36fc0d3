import type { Field } from 'apache-arrow';
import type { BoundExpression } from '../../../sql/evaluate/bound.ts';
import type { FragmentIndex, IndexType } from '../../format/snapshot.ts';
import { andThen, type MaybePromise } from '../../../protocol/maybe-promise.ts';
import { rowsInBoth, rowsInEither } from './row-set.ts';

/** A test of one column that an index can answer for one fragment. */
export interface LeafLookup {
  readonly kind: 'leaf';
  /** The name of the index. */
  readonly name: string;
  readonly type: IndexType;
  readonly file: FragmentIndex;
  /** The column in the test. */
  readonly column: Field;
  readonly test: BoundExpression;
}

/** Tests that indices can answer for one fragment. */
export type Lookup =
  | LeafLookup
  | { readonly kind: 'and' | 'or'; readonly operands: readonly Lookup[] };

/** Index lookup of the rows of a fragment for which a predicate may be true. */
export interface FragmentLookup {
  readonly root: Lookup;
  /** Whether the predicate is true of exactly the rows that are found. */
  readonly exact: boolean;
  /** Whether the lookup probably finds few rows, as for an equality. */
  readonly narrow: boolean;
}

/** Found rows, and whether the predicate is true of each. */
interface LookupResult {
  /** Positions in the fragment's files, ascending, including deleted rows. */
  readonly rows: Uint32Array;
  readonly exact: boolean;
}

/** Rows that pass a test; null if the lookup would need too many pages. */
type LeafReader = (leaf: LeafLookup) => MaybePromise<Uint32Array | null>;

/** Finds the rows of a lookup; null if a scan is cheaper. One test is looked up at once if its pages are at hand. */
export function findRows(
  { root, exact }: FragmentLookup,
  read: LeafReader,
): MaybePromise<LookupResult | null> {
  return andThen(rowsOf(root, read), (found) =>
    found === null ? null : { rows: found.rows, exact: exact && found.exact },
  );
}

function rowsOf(lookup: Lookup, read: LeafReader): MaybePromise<LookupResult | null> {
  if (lookup.kind === 'leaf')
    return andThen(read(lookup), (rows) => (rows === null ? null : { rows, exact: true }));
  return lookup.kind === 'and' ? rowsOfAnd(lookup.operands, read) : rowsOfOr(lookup.operands, read);
}

/** Up to this number, reading rows is cheaper than another lookup. */
const FEW_ROWS = 64;

/** Operands without an index leave more rows than the predicate has. */
async function rowsOfAnd(
  operands: readonly Lookup[],
  read: LeafReader,
): Promise<LookupResult | null> {
  let result: LookupResult | null = null;
  let all = true;
  for (const operand of operands) {
    if (result !== null && result.rows.length <= FEW_ROWS) return { ...result, exact: false };
    const found: LookupResult | null = await rowsOf(operand, read);
    all &&= found !== null && found.exact;
    if (found === null) continue;
    const rows: Uint32Array = result === null ? found.rows : rowsInBoth(result.rows, found.rows);
    result = { rows, exact: true };
    if (rows.length === 0) return result;
  }
  return result === null ? null : { rows: result.rows, exact: all };
}

async function rowsOfOr(
  operands: readonly Lookup[],
  read: LeafReader,
): Promise<LookupResult | null> {
  let rows = new Uint32Array();
  let exact = true;
  for (const operand of operands) {
    const found = await rowsOf(operand, read);
    if (found === null) return null;
    rows = new Uint32Array(rowsInEither(rows, found.rows));
    exact &&= found.exact;
  }
  return { rows, exact };
}

/** Names of the indices that a lookup uses. */
export function indexNames(lookup: Lookup): readonly string[] {
  return lookup.kind === 'leaf' ? [lookup.name] : lookup.operands.flatMap(indexNames);
}
