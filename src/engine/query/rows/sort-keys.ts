import { DataType, Field, Schema, type RecordBatch, type Vector } from 'apache-arrow';
import { batchOf } from '../../../arrow/select.ts';
import { columnAt } from '../../request/column-path.ts';
import { comparisonOf, type Comparison } from '../plan/order-of-values.ts';
import { wordSource } from '../plan/order-words.ts';
import { sortedRows, type OrderKey } from '../plan/row-order.ts';
import type { SortKey, SortPlan } from '../plan/sort-plan.ts';

/** Keys of rows that have the columns of the keys. */
export function keysOf({ keys }: SortPlan, batch: RecordBatch): RecordBatch {
  const columns = keys.map(({ path }) => columnAt(batch, path));
  const fields = columns.map((column, index) => new Field(`key${index}`, column.type, true));
  return batchOf(new Schema(fields), columns, batch.numRows);
}

/** Sorts rows by keys. The sort is stable. */
export function orderOf(
  sort: SortPlan,
  keys: RecordBatch,
  work?: (bytes: number) => void,
): Uint32Array {
  return sortedRows(orderKeys(sort, keys), keys.numRows, work);
}

/** The keys that rows are compared by. */
export function orderKeys(sort: SortPlan, keys: RecordBatch): readonly OrderKey[] {
  return sort.keys.map((key, index) => orderKey(key, keys, index));
}

function orderKey(key: SortKey, batch: RecordBatch, index: number): OrderKey {
  const column = batch.getChildAt(index);
  if (column === null) throw new Error(`the batch has no column ${index} to sort by`);
  const isValid = validity(column);
  const { ascending, nullsFirst } = key;
  const compare = comparisonOfKey(key, column, isValid);
  return { ascending, nullsFirst, isValid, words: wordSource(column), compare };
}

function comparisonOfKey(key: SortKey, column: Vector, isValid: Validity): Comparison {
  const compare = lazily(() => comparisonOf(column));
  const sign = key.ascending ? 1 : -1;
  const nulls = key.nullsFirst ? -1 : 1;
  if (isValid === null) return (left, right) => sign * compare(left, right);
  return (left, right) => {
    const [one, other] = [isValid(left), isValid(right)];
    if (one && other) return sign * compare(left, right);
    if (one === other) return 0;
    return one ? -nulls : nulls;
  };
}

/** Many sorts need no comparison, so it is prepared on first use. */
function lazily(make: () => Comparison): Comparison {
  let made: Comparison | undefined;
  return (left, right) => (made ??= make())(left, right);
}

type Validity = ((row: number) => boolean) | null;

/** Tests whether a row has a value; null if all have. Entries of a dictionary may be null. */
function validity(column: Vector): Validity {
  if (DataType.isDictionary(column.type)) return (row) => column.get(row) !== null;
  return column.nullCount === 0 ? null : (row) => column.isValid(row);
}
