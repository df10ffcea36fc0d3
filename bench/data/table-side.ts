import type { Table } from 'apache-arrow';

/** A search for the nearest ten, among all rows or those that a filter keeps. */
export interface Search {
  readonly vector: Float32Array;
  readonly where?: string;
}

/** One way to work with tables: every answer is rows in memory that can be read at once. */
export interface TableSide {
  readonly name: string;
  create(table: string, rows: Table): Promise<void>;
  append(table: string, rows: Table): Promise<void>;
  drop(table: string): Promise<void>;
  scan(table: string): Promise<Table>;
  filter(table: string, where: string, columns: readonly string[]): Promise<Table>;
  count(table: string, where: string): Promise<number>;
  nearest(table: string, search: Search): Promise<Table>;
}
