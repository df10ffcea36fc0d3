import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  DateDay,
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int32,
  Int64,
  Schema,
  Table,
  Utf8,
  tableFromIPC,
  tableToIPC,
  vectorFromArray,
  type DataType,
} from 'apache-arrow';
import type { JsonValue } from '../../../src/protocol/json.ts';
import type { Mask, Restrictions } from '../../../src/protocol/restrictions.ts';
import { expect } from 'vitest';
import type { TableFormat } from '../../../src/engine/versions/table-format.ts';
import type { ObjectPath } from '../../../src/protocol/identifier.ts';
import { freshEngine, type TestEngine } from '../../support/engine.ts';
import { libraryAccess } from '../../support/lance-access.ts';
import { buildIndex } from '../../support/indices.ts';
import { TestPermit } from '../../support/permit.ts';
import { bytesOf, rowsOf } from '../../support/query-answer.ts';
import { ask } from '../../support/request.ts';

/** A row of the tables of these tests. */
export interface TestRow {
  readonly id: bigint;
  readonly region: string | null;
  readonly amount: number | null;
  readonly price: number | null;
  readonly email: string | null;
  readonly words: string | null;
  /** Milliseconds since 1970 at the start of a day. */
  readonly day: number | null;
  readonly vec: readonly number[];
}

export type ColumnName = keyof TestRow;

const types: Readonly<Record<ColumnName, DataType>> = {
  id: new Int64(),
  region: new Utf8(),
  amount: new Int32(),
  price: new Float64(),
  email: new Utf8(),
  words: new Utf8(),
  day: new DateDay(),
  vec: new FixedSizeList(2, new Field('item', new Float32(), true)),
};

export const columnNames = Object.keys(types) as readonly ColumnName[];

/** Rows as the stream of an insert, with some of the columns. */
export function streamOfRows(
  rows: readonly TestRow[],
  names: readonly ColumnName[] = columnNames,
): Uint8Array {
  const schema = new Schema(names.map((name) => new Field(name, types[name], true)));
  const columns = names.map((name) => {
    const values = rows.map((row) => row[name]);
    const given = name === 'day' ? values.map((value) => value && new Date(Number(value))) : values;
    return [name, vectorFromArray(given as never[], types[name])] as const;
  });
  return tableToIPC(new Table(schema, Object.fromEntries(columns)), 'stream');
}

/** A row filter in SQL and in this language: null hides as false does. */
export interface TestFilter {
  readonly sql: string;
  readonly keeps: (row: TestRow) => boolean;
}

export const filters: readonly TestFilter[] = [
  { sql: "region = 'eu'", keeps: ({ region }) => region === 'eu' },
  { sql: "region IN ('eu', 'us')", keeps: ({ region }) => region === 'eu' || region === 'us' },
  { sql: 'id % 3 = 0', keeps: ({ id }) => id % 3n === 0n },
  { sql: 'id > 40', keeps: ({ id }) => id > 40n },
  { sql: 'amount > 0 OR amount IS NULL', keeps: ({ amount }) => amount === null || amount > 0 },
  { sql: "NOT (region = 'us')", keeps: ({ region }) => region !== null && region !== 'us' },
  { sql: "email LIKE 'a%'", keeps: ({ email }) => email?.startsWith('a') === true },
  { sql: 'true', keeps: () => true },
  { sql: 'id < 0', keeps: () => false },
];

/** A mask, its column, and the same in this language. */
export interface TestMask {
  readonly column: ColumnName;
  readonly as: Mask | 'hidden';
  readonly value: (value: never, secret: Uint8Array) => unknown;
}

const stars = (count: number) => '*'.repeat(Math.max(0, count));

export const masks: readonly TestMask[] = [
  { column: 'email', as: 'hidden', value: () => undefined },
  { column: 'region', as: 'hidden', value: () => undefined },
  { column: 'vec', as: 'hidden', value: () => undefined },
  { column: 'email', as: { mask: 'null' }, value: () => null },
  { column: 'amount', as: { mask: 'null' }, value: () => null },
  { column: 'email', as: { mask: 'constant', value: "it's" }, value: () => "it's" },
  { column: 'amount', as: { mask: 'constant', value: -7 }, value: () => -7 },
  {
    column: 'email',
    as: { mask: 'sha256' },
    value: (text: string | null, secret) =>
      text === null ? null : createHmac('sha256', secret).update(text).digest('hex'),
  },
  {
    column: 'email',
    as: { mask: 'first', n: 2 },
    value: (text: string | null) =>
      text === null
        ? null
        : Array.from(text).slice(0, 2).join('') + stars(Array.from(text).length - 2),
  },
  {
    column: 'email',
    as: { mask: 'last', n: 3 },
    value: (text: string | null) =>
      text === null
        ? null
        : stars(Array.from(text).length - 3) + Array.from(text).slice(-3).join(''),
  },
  {
    column: 'words',
    as: { mask: 'alphanum' },
    value: (text: string | null) =>
      text?.replaceAll(/[\p{L}\p{M}]/gu, 'x').replaceAll(/\p{N}/gu, 'n') ?? null,
  },
  {
    column: 'day',
    as: { mask: 'year' },
    value: (day: number | null) => day && Date.UTC(new Date(day).getUTCFullYear(), 0, 1),
  },
  {
    column: 'day',
    as: { mask: 'month' },
    value: (day: number | null) =>
      day && Date.UTC(new Date(day).getUTCFullYear(), new Date(day).getUTCMonth(), 1),
  },
  {
    column: 'amount',
    as: { mask: 'round', to: 10 },
    value: (value: number | null) => value && nearest(value, 10),
  },
  {
    column: 'price',
    as: { mask: 'round', to: 0.5 },
    value: (value: number | null) => value && nearest(value, 0.5),
  },
];

/** The nearest multiple, halves away from zero. */
function nearest(value: number, to: number): number {
  return Math.sign(value) * Math.round(Math.abs(value) / to) * to;
}

/** What binds the caller of a test: filters, and masks of columns. */
export function restrictionsOf(
  rows: readonly TestFilter[],
  columns: readonly TestMask[],
): Restrictions {
  return {
    names: ['own'],
    rows: rows.map(({ sql }) => ({ restriction: 'own', sql })),
    columns: columns.map(({ column, as }) => ({ restriction: 'own', column, as })),
  };
}

/** The rows that a bound caller sees, and the columns that are left. */
export function visibleOfRows(
  rows: readonly TestRow[],
  {
    kept,
    masked,
    secret,
  }: { kept: readonly TestFilter[]; masked: readonly TestMask[]; secret: Uint8Array },
): { readonly rows: readonly TestRow[]; readonly names: readonly ColumnName[] } {
  const names = columnNames.filter(
    (name) => !masked.some(({ column, as }) => column === name && as === 'hidden'),
  );
  const seen = rows.filter((row) => kept.every(({ keeps }) => keeps(row)));
  const replaced = seen.map((row) => {
    const changed = masked
      .filter(({ as }) => as !== 'hidden')
      .map(({ column, value }) => [column, value(row[column] as never, secret)] as const);
    return { ...row, ...Object.fromEntries(changed) };
  });
  return { rows: replaced, names };
}

/** An answer as something that can be compared: rows, a number, or a refusal. */
export type Told =
  | { readonly rows: unknown[] }
  | { readonly count: JsonValue }
  | { readonly refused: string };

/** The engine with tables that a bound caller and an administrator ask. */
export class RestrictedEngine {
  readonly engine: TestEngine;
  readonly #closeLibrary: () => Promise<void>;

  private constructor(engine: TestEngine, closeLibrary: () => Promise<void>) {
    this.engine = engine;
    this.#closeLibrary = closeLibrary;
  }

  /** @param isLance Names of tables that are made as Lance tables; none unless given. */
  static async open(
    more: Parameters<typeof freshEngine>[0] = {},
    isLance?: (name: string) => boolean,
  ): Promise<RestrictedEngine> {
    const lance = isLance === undefined ? undefined : await libraryAccess();
    const formats = isLance && {
      lance: lance!,
      formatOf: ([name = '']: ObjectPath): TableFormat => (isLance(name) ? 'lance' : 'arrow'),
    };
    const engine = await freshEngine({ ...formats, ...more });
    engine.startWork((error) => {
      throw error;
    });
    return new RestrictedEngine(engine, async () => lance?.close());
  }

  async close(): Promise<void> {
    await this.engine.close();
    await this.#closeLibrary();
  }

  /** Builds an index. */
  async index(table: string, column: string, index_type: string): Promise<void> {
    const { status } = await buildIndex(this.engine.backend, table, { column, index_type });
    expect(status).toBe('SUCCEEDED');
  }

  async compact(table: string): Promise<void> {
    await this.engine.upkeep!.compact([table]);
  }

  /** The key of the hashes, made by a first hash. */
  async secret(): Promise<Uint8Array> {
    return readFile(join(this.engine.data, 'private', 'mask-key'));
  }

  /** @param restrictions Null for an administrator. */
  async send(
    table: string,
    action: string,
    body: object | Uint8Array,
    restrictions: Restrictions | null,
  ) {
    const permit = new TestPermit({ restrictionsOn: () => restrictions });
    return ask(this.engine.backend, `POST /v1/table/${table}/${action}`, { body, permit });
  }

  async told(
    table: string,
    action: 'query' | 'count_rows',
    body: object,
    restrictions: Restrictions | null,
  ): Promise<Told> {
    try {
      const answer = await this.send(table, action, body, restrictions);
      if (action === 'count_rows') return { count: answer.json };
      return { rows: rowsOf(tableFromIPC(await bytesOf(answer.body))).map(plain) };
    } catch (error) {
      const { row, message } = error as { row?: { code: number }; message: string };
      if (row === undefined) throw error;
      return { refused: `${row.code} ${message}` };
    }
  }
}

/** A row whose values can be compared. */
export function plain(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'object' && value !== null && 'toArray' in value
        ? [...(value as { toArray(): Iterable<unknown> }).toArray()]
        : value,
    ]),
  );
}
