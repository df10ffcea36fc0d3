import { createRequire } from 'node:module';
import { connect, type Connection } from '@lancedb/lancedb';
import type * as Arrow from 'apache-arrow';

/** The Arrow classes that the LanceDB client itself uses: it takes no others. */
export const arrow = createRequire(import.meta.url)('apache-arrow') as typeof Arrow;

/** The namespace that the examples work in. */
export const NAMESPACE = ['examples'];

/** A connection to the catalog at `ARROWGATE_URL` with the key in `ARROWGATE_KEY`. */
export async function connectToCatalog(): Promise<Connection> {
  const apiKey = process.env['ARROWGATE_KEY'];
  if (apiKey === undefined || apiKey === '') throw new Error('set ARROWGATE_KEY to an API key');
  const hostOverride = process.env['ARROWGATE_URL'] ?? 'http://127.0.0.1:2333';
  return connect({ uri: 'db://examples', apiKey, hostOverride });
}

/** Prints one result: a title, and its rows or its value below. */
export function show(title: string, result: unknown): void {
  process.stdout.write(`${title}\n`);
  const rows = Array.isArray(result) ? result : [result];
  for (const row of rows) process.stdout.write(`  ${JSON.stringify(row, bigintAsNumber)}\n`);
}

function bigintAsNumber(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value;
}
