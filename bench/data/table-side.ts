import type { Table } from 'apache-arrow';

/** A search for the nearest ten, among all rows or those that a filter keeps. */
export interface Search {
  readonly vector: Float32Array;
  readonly where?: string;
  /** Whether an index is left alone. */
  readonly bypass?: boolean;
}

/** One way to work with tables: every answer is rows in memory that can be read at once. */
export interface TableSide {
  readonly name: string;
  create(table: string, rows: Table): Promise<void>;
  append(table: string, rows: Table): Promise<void>;
  drop(table: string): Promise<void>;
  delete(table: string, where: string): Promise<void>;
  /** Gives a column of some rows the value of an expression. */
  update(table: string, where: string, column: string, value: string): Promise<void>;
  /** Rows of which the table has the `id` take the place of its own; the others are added. */
  merge(table: string, rows: Table): Promise<void>;
  scan(table: string): Promise<Table>;
  filter(table: string, where: string, columns: readonly string[]): Promise<Table>;
  count(table: string, where: string): Promise<number>;
  nearest(table: string, search: Search): Promise<Table>;
}
