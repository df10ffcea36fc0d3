import type { Search } from '../index/predicate-search.ts';
import { withLookups } from '../query/pruning.ts';
import type { ScanFile } from '../query/scan.ts';
import type { IndexDefinition, Snapshot } from '../table/snapshot.ts';
import { oneOf } from '../../sql/one-of.ts';
import type { KeyValues } from './key-values.ts';

/** An index is asked where the rows to be matched are at most one to so many of the table. */
const FEW = 8;

/**
 * Files of a table with how indices find the rows that may have one of some keys. Of files
 * that no index covers, and where there are many keys, all rows are read.
 */
export function withKeyLookups(
  base: Snapshot,
  files: readonly ScanFile[],
  keys: KeyValues,
): readonly ScanFile[] {
  const { indices = [], rows } = base;
  if (indices.length === 0 || BigInt(FEW * keys.rows) > rows) return files;
  const search = searchOf(base, indices, keys);
  return search === undefined ? files : withLookups(files, search);
}

/** The columns of a key that have an index: each must have one of the values. */
function searchOf(
  { schema, fieldIds }: Snapshot,
  indices: readonly IndexDefinition[],
  keys: KeyValues,
): Search | undefined {
  const operands = (keys.columns() ?? []).flatMap(({ path, values }) => {
    const at = schema.fields.findIndex(({ name }) => name === path.column);
    const own = indices.filter(({ field }) => field === fieldIds[at]);
    const index = own.find(({ type }) => type === 'BTREE') ?? own.find(isBitmap);
    if (index === undefined) return [];
    const column = schema.fields[at]!;
    const test = oneOf(column, values);
    return [{ kind: 'leaf', index, column, test, narrow: true } as const];
  });
  // Those of single rows come first: few rows are left for the others.
  const sorted = operands.toSorted(
    (one, other) => Number(isBitmap(one.index)) - Number(isBitmap(other.index)),
  );
  return sorted.length === 0 ? undefined : { kind: 'and', operands: sorted, whole: false };
}

function isBitmap({ type }: IndexDefinition): boolean {
  return type === 'BITMAP';
}
