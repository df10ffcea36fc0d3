import { createRequire } from 'node:module';
import { join } from 'node:path';
import type * as LanceDb from '@lancedb/lancedb';
import type * as Arrow from 'apache-arrow';
import { ADMIN_KEY, type Service } from '../support/service.ts';

/** A folder that has another version of the client than the project does (`npm run test:clients` sets it). */
const folder = process.env['ARROWGATE_TEST_LANCEDB'];
const require = createRequire(
  folder === undefined ? import.meta.url : join(folder, 'package.json'),
);

/** The client under which users write their programs. */
export const lancedb: typeof LanceDb = require('@lancedb/lancedb');

/** The instance of the Arrow package that the client itself uses: it takes values of no other. */
export const arrow: typeof Arrow = require('apache-arrow');

/** A connection of the LanceDB client to a running service, as the administrator unless a key is given. */
export function connectTo({ url }: Service, apiKey = ADMIN_KEY): Promise<LanceDb.Connection> {
  return lancedb.connect({ uri: 'db://tests', apiKey, hostOverride: url });
}

/** One column: its name, its values and its type. */
export interface Column {
  readonly name: string;
  readonly type: Arrow.DataType;
  readonly values: readonly unknown[];
  /** True when absent. */
  readonly nullable?: boolean;
  readonly metadata?: ReadonlyMap<string, string>;
}

/** A table of columns that keeps what `new Table({...})` loses: nullability and metadata. */
export function tableOf(
  columns: readonly Column[],
  metadata: ReadonlyMap<string, string> = new Map(),
): Arrow.Table {
  const schema = new arrow.Schema(columns.map(fieldOf), new Map(metadata));
  const children = columns.map(({ values, type }) => arrow.vectorFromArray(values, type).data[0]!);
  const length = columns[0]?.values.length ?? 0;
  const data = arrow.makeData({ type: new arrow.Struct(schema.fields), length, children });
  return new arrow.Table(schema, new arrow.RecordBatch(schema, data));
}

function fieldOf({ name, type, nullable = true, metadata = new Map() }: Column): Arrow.Field {
  return new arrow.Field(name, type, nullable, new Map(metadata));
}

/** Whatever answers rows: a query, or a table itself. */
interface Answering {
  toArrow(): Promise<Arrow.Table>;
}

/** The rows of a query as plain objects; nested rows and vectors become objects and arrays too. */
export async function rowsOf(query: Answering): Promise<readonly Record<string, unknown>[]> {
  const found = await query.toArrow();
  return found.toArray().map((row) => plain(row) as Record<string, unknown>);
}

/** The values of one column of a query's answer. */
export async function valuesOf(query: Answering, column: string): Promise<readonly unknown[]> {
  return (await rowsOf(query)).map((row) => row[column]);
}

/** A value without classes: what a test writes down. */
export function plain(value: unknown): unknown {
  if (value instanceof arrow.Vector) return Array.from(value, plain);
  if (value instanceof arrow.StructRow || value instanceof arrow.MapRow)
    return plain(value.toJSON());
  if (Array.isArray(value)) return value.map(plain);
  if (ArrayBuffer.isView(value) || value instanceof Date) return value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, plain(entry)]));
}

/** What the service refused, as far as the client shows it. */
export interface Refusal {
  /** The HTTP status; undefined where the client keeps it to itself. */
  readonly status: number | undefined;
  readonly code: number;
  readonly error: string;
}

const BODY = /\{"error":"(?:[^"\\]|\\.)*","code":\d+[^{}]*\}/;
const STATUS = /\b([45]\d\d) [A-Z][A-Za-z ]*: \{/;

/** The error that a call of the client ends with. @throws Error when it succeeds. */
export async function errorOf(call: Promise<unknown>): Promise<Error> {
  const outcome = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (outcome instanceof Error) return outcome;
  throw new Error('the call was not refused');
}

/** The refusal that a call of the client ends with. @throws Error when it ends with anything else. */
export async function refusalOf(call: Promise<unknown>): Promise<Refusal> {
  const error = await errorOf(call);
  const refusal = refusalIn(error);
  if (refusal === undefined) throw error;
  return refusal;
}

/** The refusal of the service that an error of the client tells of, if it does. */
export function refusalIn({ message }: Error): Refusal | undefined {
  const body = BODY.exec(message)?.[0];
  if (body === undefined) return undefined;
  const status = STATUS.exec(message)?.[1];
  return { ...JSON.parse(body), status: status === undefined ? undefined : Number(status) };
}

/** A refusal without the id of its request, as a test compares it. */
export function expectedRefusal(status: number, code: number, error: string): Refusal {
  return { status, code, error };
}
