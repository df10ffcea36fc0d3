import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonValue } from '../../../src/protocol/json.ts';
import { EngineTable } from '../../support/engine-table.ts';
import { ask } from '../../support/request.ts';

/** A row that a search found, and its score. */
export type Hit = readonly [id: number, score: number];

/** A table whose texts are searched. */
export class SearchedTable {
  readonly table: EngineTable;
  readonly faults: unknown[] = [];

  private constructor(table: EngineTable) {
    this.table = table;
  }

  /** @param work Whether rows that come later are indexed in the background. */
  static async open(work = false): Promise<SearchedTable> {
    const opened = new SearchedTable(await EngineTable.open());
    if (work) opened.table.engine.startWork((error) => opened.faults.push(error));
    return opened;
  }

  /** Makes a text index and waits for it. */
  async index(column: string, options: object = {}): Promise<void> {
    const body = { column, index_type: 'FTS', ...options };
    const { transaction_id: id } = (await this.table.post('create_index', body)) as {
      transaction_id: string;
    };
    for (;;) {
      const line = `POST /v1/transaction/${id}/describe`;
      const { json } = await ask(this.table.engine.backend, line, { body: {} });
      const { status } = json as { status: string };
      if (status === 'SUCCEEDED') return;
      if (status === 'FAILED') throw new Error(JSON.stringify(json));
      await sleep(5);
    }
  }

  /** The rows of a search by their `id`, the best first. */
  async search(query: JsonValue | object, more: object = {}): Promise<readonly Hit[]> {
    const body = { full_text_query: query, columns: ['id'], k: 1000, ...more };
    const rows = await this.table.rows(body);
    return rows.map((row) => [Number(row['id']), Number(row['_score'])] as const);
  }

  /** The same without scores, in the order of the ids. */
  async ids(query: JsonValue | object, more: object = {}): Promise<readonly number[]> {
    const hits = await this.search(query, more);
    return hits.map(([id]) => id).sort((one, other) => one - other);
  }

  async unindexed(name: string): Promise<number> {
    const stats = (await this.table.post(`index/${name}/stats`)) as {
      num_unindexed_rows: number;
    };
    return stats.num_unindexed_rows;
  }
}

/** A search for words of one column. */
export const match = (terms: string, column: string | null = 'text', more: object = {}) => ({
  query: { match: { terms, column, ...more } },
});

/** A search for words of one column that follow each other. */
export const phrase = (terms: string, slop = 0, column: string | null = 'text') => ({
  query: { phrase: { terms, column, slop } },
});
