import type { RecordBatch, Schema } from 'apache-arrow';
import type { ObjectPath } from './identifier.ts';

/** A read-only table that the service itself answers for, such as `system$audit`. */
export interface VirtualTable {
  readonly path: ObjectPath;
  readonly schema: Schema;
  /** The parts that hold the rows of this moment, in order. What is added later is in none of them. */
  parts(): Promise<readonly VirtualPart[]>;
}

/** Rows of such a table whose minimum and maximum are known. */
export interface VirtualPart {
  readonly rows: number;
  /** The least and the greatest value of columns that have no null, as integers of the column's unit. */
  readonly bounds: ReadonlyMap<string, { readonly least: bigint; readonly greatest: bigint }>;
  open(): Promise<OpenPart>;
}

/** An opened part; the caller closes it. */
export interface OpenPart {
  /** How many rows each batch has. */
  readonly batchRows: readonly number[];
  /** A batch with exactly these columns in this order; no others are read, where that saves something. */
  read(index: number, columns: readonly string[]): Promise<RecordBatch>;
  /** Some rows of a batch, where reading them alone saves something. @param rows Positions in the batch, ascending. */
  pick?(index: number, columns: readonly string[], rows: Uint32Array): Promise<RecordBatch>;
  close(): Promise<void>;
}
