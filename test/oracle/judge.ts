import type * as LanceDb from '@lancedb/lancedb';
import type * as Arrow from 'apache-arrow';
import { arrow } from '../clients/lancedb.ts';
import type {
  Change,
  MergeStatement,
  NearestStatement,
  Outcome,
  QueryStatement,
  Side,
  Statement,
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
