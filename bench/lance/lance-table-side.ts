import type { Connection } from '@lancedb/lancedb';
import type { Table } from 'apache-arrow';
import { RawSide } from '../data/raw-side.ts';
import { peer } from '../harness/lancedb-peer.ts';

/** The name of the side in tables of results. */
export const LANCE_SIDE = 'arrowgate, Lance table';

/** The protocol over `node:http`, on tables that a Lance client makes through the catalog. */
export class LanceTableSide extends RawSide {
  readonly #writer: Connection;

  private constructor(url: string, key: string, writer: Connection) {
    super(url, key, LANCE_SIDE);
    this.#writer = writer;
  }

  /** @param storageOptions Credentials of the object store in which tables are made; none for folders. */
  static async connect(
    url: string,
    key: string,
    storageOptions: Readonly<Record<string, string>> = {},
  ): Promise<LanceTableSide> {
    const options = { uri: url, headers: { 'x-api-key': key } };
    const writer = await peer.lancedb.connectNamespace('rest', options, { storageOptions });
    return new LanceTableSide(url, key, writer);
  }

  override async create(table: string, rows: Table): Promise<void> {
    (await this.#writer.createTable(table, rows)).close();
  }
}
