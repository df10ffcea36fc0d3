import type * as LanceDb from '@lancedb/lancedb';
import type * as Arrow from 'apache-arrow';
import type { LanceIndexType } from '../../src/engine/versions/managed/lance-library.ts';
import { arrow, lancedb } from '../clients/lancedb.ts';
import {
  isAside,
  makesVersion,
  type Aside,
  type Change,
  type MergeStatement,
  type NearestStatement,
  type Outcome,
  type QueryStatement,
  type Side,
  type Statement,
} from './statement.ts';
import { tableOf, valuesIn, type Column } from './value.ts';

/** LanceDB on a table of a local database, in this process. */
export class Judge implements Side {
  readonly #database: LanceDb.Connection;
  readonly #name: string;
  #table: LanceDb.Table | undefined;
  /** The latest outcome. */
  last: Outcome | undefined;
  /** The numbers of the versions that changes made. */
  #versions: number[] = [];

  constructor(database: LanceDb.Connection, name: string) {
    this.#database = database;
    this.#name = name;
  }

  async create(rows: readonly Column[]): Promise<void> {
    // Lance writes maps from this version of its files on.
    const storageOptions = { new_table_data_storage_version: '2.2' };
    const options = rows.some(({ type }) => arrow.DataType.isMap(type)) ? { storageOptions } : {};
    this.#table = await this.#database.createTable(this.#name, tableOf(rows), options);
    this.#versions = [await this.#table.version()];
  }

  /** Opens a table that the other side changes. */
  async open(): Promise<void> {
    this.#table = await this.#database.openTable(this.#name);
    this.#versions = [await this.#table.version()];
  }

  /** What there is after a change by the other side. */
  async look(statement: Statement): Promise<Outcome> {
    await this.#opened.checkoutLatest();
    if (makesVersion(statement)) this.#versions.push(await this.#opened.version());
    if (isAside(statement)) return this.#told(statement);
    return { kind: 'changed', counts: [], columns: columnsOf(await this.#opened.toArrow()) };
  }

  async close(): Promise<void> {
    this.#table?.close();
    await this.#database.dropTable(this.#name);
  }

  /** The number of the newest version. */
  get version(): number {
    return this.#versions.at(-1) ?? 0;
  }

  get #opened(): LanceDb.Table {
    if (this.#table === undefined) throw new Error('the table is not created yet');
    return this.#table;
  }

  async run(statement: Statement): Promise<Outcome> {
    const outcome = await this.#run(statement).catch((error: unknown): Outcome => ({
      kind: 'refused',
      message: error instanceof Error ? error.message : String(error),
    }));
    this.last = outcome;
    return outcome;
  }

  async #run(statement: Statement): Promise<Outcome> {
    if (statement.kind === 'nearest')
      return rows(await nearestOf(this.#opened, statement).toArrow());
    if (isAside(statement)) return this.#aside(statement);
    if (statement.kind !== 'query' && statement.kind !== 'count') return this.#changed(statement);
    return this.#at(statement.version, async () => {
      if (statement.kind === 'query') return rows(await queryOf(this.#opened, statement).toArrow());
      return { kind: 'count', count: await this.#opened.countRows(statement.filter ?? undefined) };
    });
  }

  async #at(version: number | null, read: () => Promise<Outcome>): Promise<Outcome> {
    if (version === null) return read();
    await this.#opened.checkout(this.#numberOf(version));
    try {
      return await read();
    } finally {
      await this.#opened.checkoutLatest();
    }
  }

  #numberOf(version: number): number {
    return this.#versions[version]!;
  }

  /** Makes a change; answers its counts where LanceDB tells them. */
  #change(statement: Change): Promise<readonly number[]> {
    const table = this.#opened;
    switch (statement.kind) {
      case 'insert': {
        const mode = statement.overwrite ? 'overwrite' : 'append';
        return uncounted(table.add(tableOf(statement.rows), { mode }));
      }
      case 'delete':
        return table.delete(statement.filter).then(({ numDeletedRows }) => [numDeletedRows]);
      case 'update': {
        const where = statement.filter === null ? {} : { where: statement.filter };
        const updated = table.update({ valuesSql: { ...statement.values }, ...where });
        return updated.then(({ rowsUpdated }) => [rowsUpdated]);
      }
      case 'merge':
        return merged(table, statement);
      case 'add':
        return uncounted(
          table.addColumns([{ name: statement.name, valueSql: statement.expression }]),
        );
      case 'drop':
        return uncounted(table.dropColumns([statement.name]));
      case 'rename':
        return uncounted(table.alterColumns([{ path: statement.name, rename: statement.to }]));
      case 'retype': {
        const { name, type } = statement;
        return uncounted(table.alterColumns([{ path: name, dataType: type }]));
      }
      case 'restore':
        break;
    }
    return uncounted(restored(table, this.#numberOf(statement.version)));
  }

  async #aside(statement: Aside): Promise<Outcome> {
    try {
      await this.#setAside(statement);
    } finally {
      await this.#opened.checkoutLatest();
      if (makesVersion(statement)) this.#versions.push(await this.#opened.version());
    }
    return this.#told(statement);
  }

  /** Changes what a table has beside its rows. */
  async #setAside(statement: Aside): Promise<void> {
    const table = this.#opened;
    switch (statement.kind) {
      case 'tag': {
        const { action, name, version } = statement;
        const tags = await table.tags();
        if (action === 'delete') return tags.delete(name);
        return tags[action](name, this.#numberOf(version));
      }
      case 'branch': {
        const { action, name, version } = statement;
        const branches = await table.branches();
        if (action === 'delete') return branches.delete(name);
        if (action === 'create') {
          (await branches.create(name, undefined, this.#numberOf(version))).close();
          return;
        }
        const branch = await branches.checkout(name);
        await branch.add(tableOf(statement.rows));
        return branch.close();
      }
      case 'index': {
        const { column, name, type } = statement;
        return table.createIndex(column, { config: configOf(type), name, replace: true });
      }
      case 'unindex':
        return table.dropIndex(statement.name);
      case 'compact':
        return void (await table.optimize({ cleanupOlderThan: new Date(0) }));
      case 'stats':
    }
  }

  async #told({ kind }: Aside): Promise<Outcome> {
    const table = this.#opened;
    if (kind === 'index' || kind === 'unindex') {
      const listed = await table.listIndices();
      return told(listed.map((index) => indexText(index)));
    }
    if (kind === 'stats') return told([statsText(await table.stats())]);
    if (kind === 'tag') {
      const names = Object.keys(await (await table.tags()).list());
      return told(await Promise.all(names.map((name) => this.#countAt(name))));
    }
    if (kind === 'branch') {
      const branches = await table.branches();
      const names = Object.keys(await branches.list());
      return told(await Promise.all(names.map((name) => countOn(branches, name))));
    }
    return { kind: 'changed', counts: [], columns: columnsOf(await table.toArrow()) };
  }

  /** The number of rows at a tag. */
  async #countAt(name: string): Promise<string> {
    const table = await this.#database.openTable(this.#name);
    await table.checkout(name);
    const count = await table.countRows();
    table.close();
    return `${name}: ${count} rows`;
  }

  /** Also a refused change counts among the versions, so that both sides count alike. */
  async #changed(statement: Change): Promise<Outcome> {
    let counts: readonly number[];
    try {
      counts = await this.#change(statement);
    } finally {
      await this.#opened.checkoutLatest();
      this.#versions.push(await this.#opened.version());
    }
    return { kind: 'changed', counts, columns: columnsOf(await this.#opened.toArrow()) };
  }
}

/** What a side tells, in an order that does not matter. */
export function told(lines: readonly string[]): Outcome {
  return { kind: 'told', lines: lines.toSorted() };
}

async function countOn(branches: LanceDb.Branches, name: string): Promise<string> {
  const branch = await branches.checkout(name);
  const count = await branch.countRows();
  branch.close();
  return `${name}: ${count} rows`;
}

function indexText({
  name,
  columns,
  indexType,
  numIndexedRows,
  numUnindexedRows,
}: LanceDb.IndexConfig): string {
  const type = indexType.toUpperCase().replaceAll('_', '');
  return `${name} ${type} ${columns.join()} ${numIndexedRows} + ${numUnindexedRows}`;
}

function statsText({ numRows, numIndices, fragmentStats }: LanceDb.TableStatistics): string {
  const { numFragments, numSmallFragments, lengths } = fragmentStats;
  return [numRows, numIndices, numFragments, numSmallFragments, lengths.min, lengths.max].join();
}

function configOf(type: LanceIndexType): LanceDb.Index {
  const { Index } = lancedb;
  const makers = {
    BTREE: () => Index.btree(),
    BITMAP: () => Index.bitmap(),
    LABEL_LIST: () => Index.labelList(),
    FM: () => Index.fm(),
    FTS: () => Index.fts(),
    IVF_FLAT: () => Index.ivfFlat({ numPartitions: 1 }),
    IVF_PQ: () => Index.ivfPq({ numPartitions: 1 }),
    IVF_RQ: () => Index.ivfRq({ numPartitions: 1 }),
    IVF_HNSW_PQ: () => Index.hnswPq({ numPartitions: 1 }),
    IVF_HNSW_SQ: () => Index.hnswSq({ numPartitions: 1 }),
  };
  return makers[type]();
}

async function uncounted(change: Promise<unknown>): Promise<readonly number[]> {
  await change;
  return [];
}

async function restored(table: LanceDb.Table, version: number): Promise<void> {
  await table.checkout(version);
  await table.restore();
}

async function merged(table: LanceDb.Table, statement: MergeStatement): Promise<number[]> {
  const { on, update, updateIf, insert, remove, removeIf } = statement;
  let builder = table.mergeInsert([...on]);
  if (update)
    builder = builder.whenMatchedUpdateAll(updateIf === null ? undefined : { where: updateIf });
  if (insert) builder = builder.whenNotMatchedInsertAll();
  if (remove) {
    builder = builder.whenNotMatchedBySourceDelete(
      removeIf === null ? undefined : { where: removeIf },
    );
  }
  const done = await builder.execute(tableOf(statement.rows));
  return [done.numUpdatedRows, done.numInsertedRows, done.numDeletedRows];
}

function queryOf(
  table: LanceDb.Table,
  { columns, filter, order, limit, offset }: QueryStatement,
): LanceDb.Query {
  let query = table.query();
  if (columns !== null)
    query = query.select(
      Array.isArray(columns) ? [...columns] : Object.fromEntries(Object.entries(columns)),
    );
  if (filter !== null) query = query.where(filter);
  if (order.length > 0) {
    query = query.orderBy(order.map(({ column, ...rest }) => ({ columnName: column, ...rest })));
  }
  if (limit !== null) query = query.limit(limit);
  return offset > 0 ? query.offset(offset) : query;
}

function nearestOf(table: LanceDb.Table, statement: NearestStatement): LanceDb.VectorQuery {
  const { column, vector, metric, limit, offset, filter, prefilter, bounds } = statement;
  let query = table
    .query()
    .nearestTo([...vector])
    .column(column)
    .distanceType(metric)
    .limit(limit);
  if (filter !== null) query = query.where(filter);
  if (!prefilter) query = query.postfilter();
  if (offset > 0) query = query.offset(offset);
  const [lower, upper] = bounds;
  return query.distanceRange(lower ?? undefined, upper ?? undefined);
}

function rows(table: Arrow.Table): Outcome {
  return { kind: 'rows', columns: columnsOf(table) };
}

/** The columns of an Arrow table, which is of LanceDB's instance. */
export function columnsOf(table: Arrow.Table): readonly Column[] {
  return table.schema.fields.map(({ name, type }, at) => ({
    name,
    type,
    values: valuesIn(table.getChildAt(at)!),
  }));
}
