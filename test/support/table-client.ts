import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { StructRow, Table, tableFromIPC, tableToIPC, Vector, type Schema } from 'apache-arrow';
import { expect } from 'vitest';
import { CatalogError } from '../../src/protocol/errors.ts';
import type { JsonValue } from '../../src/protocol/json.ts';
import type { TestEngine } from './engine.ts';
import { bytesOf, rowsOf } from './query-answer.ts';
import { ask, type Sent } from './request.ts';

/** A row of a table as an object. */
export type Row = Record<string, unknown>;

/** An Arrow stream of columns, of a schema if one is given. */
export function streamOf(columns: Readonly<Record<string, Vector>>, schema?: Schema): Uint8Array {
  const table = schema === undefined ? new Table(columns) : new Table(schema, columns);
  return tableToIPC(table, 'stream');
}

/** What a table is, for a check that nothing of it changed. */
export interface TableState {
  readonly rows: readonly Row[];
  readonly version: JsonValue;
  readonly files: readonly string[];
}

/** Asks an engine about one table. */
export class TableClient {
  readonly #engine: TestEngine;
  readonly #name: string;

  constructor(engine: TestEngine, name = 't') {
    this.#engine = engine;
    this.#name = name;
  }

  /** Sends an action such as `delete` or `merge_insert?on=id`. */
  async send(action: string, sent: Sent = {}) {
    return ask(this.#engine.backend, `POST /v1/table/${this.#name}/${action}`, sent);
  }

  /** Sends an action with a JSON body and answers its JSON. */
  async json(action: string, body: object = {}): Promise<JsonValue> {
    return (await this.send(action, { body })).json;
  }

  /** All rows of a version, the newest by default, in the order of the table. */
  async rows(version: number | null = null): Promise<readonly Row[]> {
    const { body } = await this.send('query', { body: { vector: [], with_row_id: true, version } });
    return rowsOf(tableFromIPC(await bytesOf(body))).map(plainRow);
  }

  async version(): Promise<JsonValue> {
    const described = await this.json('describe');
    return described instanceof Object && 'version' in described ? described.version! : null;
  }

  /** The files in the table's folder, sorted. */
  async files(): Promise<readonly string[]> {
    const root = join(this.#engine.data, 'tables');
    const [folder = ''] = await readdir(root);
    const names = await readdir(join(root, folder), { recursive: true });
    return names.filter((name) => name.includes('.arrow')).toSorted();
  }

  async state(): Promise<TableState> {
    return { rows: await this.rows(), version: await this.version(), files: await this.files() };
  }
}

/** Expects a refusal of a code and a sentence. */
export async function expectRefusal(
  refused: Promise<unknown>,
  code: number,
  sentence: string,
): Promise<void> {
  expect(await refusalOf(refused)).toBe(`${code}: ${sentence}`);
}

async function refusalOf(refused: Promise<unknown>): Promise<string> {
  try {
    await refused;
    return 'no refusal';
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    return `${error.row.code}: ${error.message}`;
  }
}

/** A row whose lists and structs are arrays and objects, as tests compare them. */
function plainRow(row: Row): Row {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)]));
}

function plain(value: unknown): unknown {
  if (value instanceof Vector) return Array.from(value, plain);
  if (value instanceof StructRow) return plainRow(value.toJSON());
  return value;
}
