import { ROW_ID, ROW_OFFSET, withComputed } from '../query/computed-columns.ts';
import { bindPredicate } from '../query/formula.ts';
import { ownStatement } from '../query/statement.ts';
import type { FragmentReader } from '../table/fragment-reader.ts';
import type { Derive } from './derived-commit.ts';
import { Removal } from './removal.ts';
import { physicalRows, RowFinder } from './row-finder.ts';

/**
 * Deletes the rows of which a predicate is true.
 * @returns How many rows it deleted.
 * @throws CatalogError TableColumnNotFound or InvalidInput for what is wrong with the predicate.
 */
export function deleteRows(
  reader: FragmentReader,
  predicate: string,
  statement = ownStatement(),
): Derive<bigint> {
  const finder = new RowFinder(reader);
  const removal = new Removal(reader);
  return async (base, wrote, flushes) => {
    const fields = withComputed(base.schema, [ROW_ID, ROW_OFFSET]);
    const formula = bindPredicate('predicate', predicate, fields, statement);
    const gone = new Map(
      (await finder.find(base, formula)).map(({ fragment, found }) => [
        fragment,
        physicalRows(found),
      ]),
    );
    const fragments = await removal.without(base, gone, wrote, flushes);
    const result = [...gone.values()].reduce((sum, rows) => sum + BigInt(rows.length), 0n);
    return { fragments, nextRowId: base.nextRowId, result };
  };
}
