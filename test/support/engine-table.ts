import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Table, tableFromIPC, tableToIPC, type Vector } from 'apache-arrow';
import { expect } from 'vitest';
import type { JsonValue } from '../../src/protocol/json.ts';
import { freshEngine, type TestEngine } from './engine.ts';
import { bytesOf, rowsOf } from './query-answer.ts';
import { ask, type Sent } from './request.ts';

/** Columns of rows that a test sends. */
export type Columns = Readonly<Record<string, Vector>>;

/** The engine with one table, `/t`, asked as a client would. */
export class EngineTable {
  readonly engine: TestEngine;

  private constructor(engine: TestEngine) {
    this.engine = engine;
  }

  static async open(more: Parameters<typeof freshEngine>[0] = {}): Promise<EngineTable> {
    return new EngineTable(await freshEngine(more));
  }

  async close(): Promise<void> {
    await this.engine.close();
  }

  /** Makes the table, one fragment for each part. */
  async create(...parts: readonly Columns[]): Promise<void> {
    for (const [index, part] of parts.entries()) {
      await this.send(index === 0 ? 'create' : 'insert', { body: streamOf(part) });
    }
  }

  /** `POST /v1/table/t/<action>`; an object is the body. */
  async send(action: string, sent: Sent = {}) {
    return ask(this.engine.backend, `POST /v1/table/t/${action}`, sent);
  }

  async post(action: string, body: object = {}): Promise<JsonValue> {
    return (await this.send(action, { body })).json;
  }

  /** The rows of a query as objects, in the table's order. */
  async rows(body: object = {}): Promise<Record<string, unknown>[]> {
    const answer = await this.send('query', { body: { vector: [], ...body } });
    return rowsOf(tableFromIPC(await bytesOf(answer.body)));
  }

  /** The values of one column. */
  async column(name: string, body: object = {}): Promise<unknown[]> {
    const rows = await this.rows({ columns: [name], ...body });
    return rows.map((row) => row[name]);
  }

  /** The fields of the schema, in LanceDB's vocabulary. */
  async fields(body: object = {}): Promise<JsonValue> {
    const described = (await this.send('describe/', { body })).json;
    return (described as { schema: { fields: JsonValue } }).schema.fields;
  }

  /** Everything that a refused request must leave as it was. */
  async state(): Promise<object> {
    return {
      described: await this.post('describe'),
      versions: await this.post('version/list'),
      tags: await this.post('tags/list'),
      files: await this.files(),
    };
  }

  /**
   * The names of the files in the folders of tables.
   * @param besides The name of a folder whose files are left out.
   */
  async files(besides?: string): Promise<readonly string[]> {
    const root = join(this.engine.data, 'tables');
    const all = await readdir(root, { recursive: true, withFileTypes: true });
    return all
      .filter((entry) => entry.isFile() && basename(entry.parentPath) !== besides)
      .map((entry) => entry.name)
      .toSorted();
  }

  /** Asks for what must be refused, in these words, and changes nothing. */
  async refuses(action: string, body: object, code: number, sentence: string): Promise<void> {
    const before = await this.state();
    expect(await refusalOf(this.send(action, { body }))).toBe(`${code} ${sentence}`);
    expect(await this.state()).toEqual(before);
  }
}

/** The code and the sentence of a refusal. */
export async function refusalOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  const { row, message } = error as { row?: { code: number }; message?: string };
  return `${row?.code} ${message}`;
}

export function streamOf(columns: Columns): Uint8Array {
  return tableToIPC(new Table(columns), 'stream');
}
