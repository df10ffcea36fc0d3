import { Int64, vectorFromArray } from 'apache-arrow';
import { streamOf, type Columns } from './engine-table.ts';

/** Enough columns for a manifest of one fragment to be larger than a block. */
const COLUMNS = 200;

/** Rows of a table each version of which has a new list of fragments. The first column is `n`. */
export function listedRows(...values: readonly number[]): Uint8Array {
  const columns: Record<string, Columns[string]> = {};
  for (let at = 0; at < COLUMNS; at++) {
    columns[at === 0 ? 'n' : `c${at}`] = vectorFromArray(values.map(BigInt), new Int64());
  }
  return streamOf(columns);
}
