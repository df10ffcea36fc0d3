import type { Table } from 'apache-arrow';
import type { TableSide } from './table-side.ts';

/** One kind of work on tables, measured alike for each side. */
export interface DataQuestion {
  readonly work: string;
  /** The ratio to LanceDB embedded that the project aims at. */
  readonly target: string;
  /** Whether LanceDB's client of remote catalogs is measured on the project, too. */
  readonly client: boolean;
  /** Whether it is measured, too, by a client that receives on the thread that works with the answer. */
  readonly oneThread?: boolean;
  /** How often it is done before it is measured. */
  readonly warmups?: number;
  /** Milliseconds. @throws Error for an answer that is not the right one. */
  measure(side: TableSide): Promise<number>;
}

/** Measures on a table that is made for it with some rows, or none, and is gone afterwards. */
export async function onFreshTable(
  side: TableSide,
  table: string,
  rows: Table | null,
  measure: () => Promise<number>,
): Promise<number> {
  if (rows !== null) await side.create(table, rows);
  try {
    return await measure();
  } finally {
    await side.drop(table);
  }
}

/** An answer with another number of rows than it must have is no measurement. */
export function checkRows({ numRows }: Pick<Table, 'numRows'>, expected: number): void {
  if (numRows !== expected) throw new Error(`an answer has ${numRows} rows, not ${expected}`);
}
