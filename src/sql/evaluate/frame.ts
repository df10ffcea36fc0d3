import { DataType, type RecordBatch } from 'apache-arrow';
import type { Bound } from './bound.ts';
import type { Column } from '../values/column.ts';
import { readColumn, readEncoded, type Encoded } from '../values/read.ts';
import { takeRows } from '../values/take.ts';
import { isComputable, plainType } from '../values/types.ts';

/**
 * The rows that an expression runs on: a batch, some rows of another frame, or
 * the values of a dictionary. Columns are read on first use.
 */
export interface Frame {
  readonly length: number;
  column(name: string): Column;
  /** The dictionary of a column, when there are fewer values in it than rows. */
  encoded(name: string): Encoded | undefined;
  /** The result of a shared operand, if it was computed for these rows before. */
  recall(node: Bound): Column | undefined;
  remember(node: Bound, column: Column): void;
}

/** The value of a map, created on first use. */
function memoised<Value>(cache: Map<string, Value>, name: string, make: () => Value): Value {
  if (!cache.has(name)) cache.set(name, make());
  return cache.get(name)!;
}

function noColumn(name: string): never {
  throw new TypeError(`there is no column ${name} here`);
}

/** A frame of `length` rows without columns, for literals. */
export function constantFrame(length: number): Frame {
  const results = new Map<Bound, Column>();
  return {
    length,
    column: noColumn,
    encoded: () => undefined,
    recall: (node) => results.get(node),
    remember: (node, column) => void results.set(node, column),
  };
}

/** All rows of a batch. The batch needs only the columns that the expression uses. */
export function batchFrame(batch: RecordBatch): Frame {
  const columns = new Map<string, Column>();
  const dictionaries = new Map<string, Encoded | undefined>();
  const dataOf = (name: string) => {
    const index = batch.schema.fields.findIndex((field) => field.name === name);
    return batch.data.children[index] ?? noColumn(name);
  };
  const readDictionary = (name: string): Encoded | undefined => {
    const data = dataOf(name);
    const useful =
      DataType.isDictionary(data.type) &&
      isComputable(plainType(data.type)) &&
      (data.dictionary?.length ?? 0) < data.length;
    return useful ? readEncoded(data) : undefined;
  };
  return {
    ...constantFrame(batch.numRows),
    column: (name) => memoised(columns, name, () => readColumn(dataOf(name))),
    encoded: (name) => memoised(dictionaries, name, () => readDictionary(name)),
  };
}

/** Some rows of a frame. Values that were computed for all rows are reused. */
export function subFrame(parent: Frame, rows: Uint32Array): Frame {
  const columns = new Map<string, Column>();
  const own = constantFrame(rows.length);
  return {
    ...own,
    column: (name) => memoised(columns, name, () => takeRows(parent.column(name), rows)),
    recall: (node) => {
      const found = own.recall(node);
      const whole = found === undefined ? parent.recall(node) : undefined;
      return whole === undefined ? found : takeRows(whole, rows);
    },
  };
}

/** The values of one column's dictionary, followed by a null. */
export function dictionaryFrame(name: string, values: Column): Frame {
  return {
    ...constantFrame(values.length),
    column: (column) => (column === name ? values : noColumn(column)),
  };
}
