import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { connect, type Connection } from '@lancedb/lancedb';
import type * as Arrow from 'apache-arrow';

/** The Arrow classes that the LanceDB client itself uses: it takes no others. */
export const arrow = createRequire(import.meta.url)('apache-arrow') as typeof Arrow;

/** The namespace that the examples work in. */
export const NAMESPACE = ['examples'];

/** The folder of the data sets. */
export const DATASETS = fileURLToPath(
  new URL('../node_modules/vega-datasets/data', import.meta.url),
);

/** A connection to the catalog at `ARROWGATE_URL` with the key in `ARROWGATE_KEY`. */
export async function connectToCatalog(): Promise<Connection> {
  const apiKey = process.env['ARROWGATE_KEY'];
  if (apiKey === undefined || apiKey === '') throw new Error('set ARROWGATE_KEY to an API key');
  const hostOverride = process.env['ARROWGATE_URL'] ?? 'http://127.0.0.1:2333';
  return connect({ uri: 'db://examples', apiKey, hostOverride });
}

/** A column with one value of each row. */
export function columnOf<Row>(
  rows: readonly Row[],
  type: Arrow.DataType,
  value: (row: Row) => unknown,
): Arrow.Vector {
  return arrow.vectorFromArray(rows.map(value), type);
}

/** The sentence of a refusal: the client's message holds the whole answer. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return /"error":"([^"]*)"/.exec(message)?.[1] ?? message;
}

/** Prints one result: a title, and its rows or its value below. */
export function show(title: string, result: unknown): void {
  process.stdout.write(`${title}\n`);
  const rows = Array.isArray(result) ? result : [result];
  for (const row of rows) process.stdout.write(`  ${textOf(row)}\n`);
}

function textOf(row: unknown): string {
  return typeof row === 'string' ? row : JSON.stringify(row, bigintAsNumber);
}

function bigintAsNumber(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value;
}
