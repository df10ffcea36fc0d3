import { Int64, Table, tableToIPC, vectorFromArray } from 'apache-arrow';

/** Enough columns for a manifest of one fragment to be larger than a block. */
const COLUMNS = 200;

/** Rows of a table each version of which has a new list of fragments. */
export function listedRows(...values: readonly number[]): Uint8Array {
  const column = () => vectorFromArray(values.map(BigInt), new Int64());
  const columns = Array.from({ length: COLUMNS }, (_, at) => [`c${at}`, column()] as const);
  return tableToIPC(new Table(Object.fromEntries(columns)), 'stream');
}
