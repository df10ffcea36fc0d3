import type { Connection, Query, Table, VectorQuery } from '@lancedb/lancedb';
import type * as Arrow from 'apache-arrow';
import { peer } from '../harness/lancedb-peer.ts';
import type { Search, TableSide } from './table-side.ts';

/** LanceDB in this process, its tables in a folder, or in an object store that options open. */
export async function lanceEmbedded(
  folder: string,
  storageOptions: Readonly<Record<string, string>> = {},
): Promise<TableSide> {
  return new LanceSide('LanceDB embedded', await peer.lancedb.connect(folder, { storageOptions }));
}

/** The LanceDB client of a remote catalog. */
export async function lanceClient(url: string, apiKey: string): Promise<TableSide> {
  const connection = await peer.lancedb.connect({ uri: 'db://bench', hostOverride: url, apiKey });
  return new LanceSide('LanceDB client on arrowgate', connection);
}

class LanceSide implements TableSide {
  readonly name: string;
  readonly #connection: Connection;
  readonly #tables = new Map<string, Table>();

  constructor(name: string, connection: Connection) {
    this.name = name;
    this.#connection = connection;
  }

  async create(table: string, rows: Arrow.Table): Promise<void> {
    this.#tables.set(table, await this.#connection.createTable(table, rows));
  }

  async append(table: string, rows: Arrow.Table): Promise<void> {
    await (await this.#open(table)).add(rows);
  }

  async drop(table: string): Promise<void> {
    this.#tables.delete(table);
    await this.#connection.dropTable(table);
  }

  async delete(table: string, where: string): Promise<void> {
    await (await this.#open(table)).delete(where);
  }

  async update(table: string, where: string, column: string, value: string): Promise<void> {
    await (await this.#open(table)).update({ where, valuesSql: { [column]: value } });
  }

  async merge(table: string, rows: Arrow.Table): Promise<void> {
    const merge = (await this.#open(table)).mergeInsert('id');
    await merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(rows);
  }

  async scan(table: string): Promise<Arrow.Table> {
    return (await this.#open(table)).query().toArrow();
  }

  async filter(table: string, where: string, columns: readonly string[]): Promise<Arrow.Table> {
    const query = (await this.#open(table)).query();
    return query
      .where(where)
      .select([...columns])
      .toArrow();
  }

  async count(table: string, where: string): Promise<number> {
    return (await this.#open(table)).countRows(where);
  }

  async nearest(table: string, { vector, where }: Search): Promise<Arrow.Table> {
    const query: Query = (await this.#open(table)).query();
    const search: VectorQuery = query.nearestTo(vector).limit(10);
    return (where === undefined ? search : search.where(where)).toArrow();
  }

  async #open(name: string): Promise<Table> {
    const table = this.#tables.get(name) ?? (await this.#connection.openTable(name));
    this.#tables.set(name, table);
    return table;
  }
}
