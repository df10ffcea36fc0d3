import type * as LanceDb from '@lancedb/lancedb';
import { connectionOf, type TableAtVersion, type TablePlace } from '../wire/messages.ts';
import { pinned, type AnswerVersions, type CatalogEndpoint } from './catalog-endpoint.ts';
import { nativeTable, type NativeTable } from './native-table.ts';
import { openAt } from './open-tables.ts';

/** Tables that stay open for their next change. */
const MAX_IDLE = 8;

/** Share of the memory of the process that one of the two caches of an open table may fill. */
const CACHE_SHARE = 64;

/** A connection of the library that knows one table. */
interface TableConnection {
  readonly connection: LanceDb.Connection;
  /** The name of the table for the library. */
  readonly name: string;
}

interface OpenTable extends TableConnection {
  readonly table: NativeTable;
}

/** A connection for a table that one change makes. */
interface NewTable extends TableConnection {
  /**
   * Ends the change.
   * @param table The table, if the library has made it.
   * @param version The version that the change made. Undefined closes the table.
   */
  end(table: NativeTable | undefined, version: number | undefined): void;
}

/** A table that one change has opened for itself. */
interface OwnTable {
  readonly table: LanceDb.Table;
  close(): void;
}

/** A table after a change of it. */
interface IdleTable extends OpenTable {
  /** The version that the change made. */
  readonly version: number;
}

/** A table that one change uses. */
interface LentTable {
  readonly table: NativeTable;
  /** Has the next change of the table wait for the end of this use: its own is committed. */
  returnSoon(): void;
  /**
   * Ends the use.
   * @param version The version that the change made. Undefined closes the table.
   */
  giveBack(version?: number): void;
}

interface ChangeTablesOptions {
  readonly library: typeof LanceDb;
  readonly endpoint: CatalogEndpoint;
  /** Memory of the process, in bytes. */
  readonly memory: number;
}

/**
 * Tables that are open for changes, each with a connection and caches of its own. Nothing of one reaches
 * another change before its commit is certain: no two changes share a table, and only that of a change that
 * the catalog committed at once is used again. What the library believes of a refused version, or of one that
 * came second, is closed with it.
 */
export class ChangeTables {
  readonly #options: ChangeTablesOptions;
  /** By table and location; the one that was used last is the last one. */
  readonly #idle = new Map<string, IdleTable>();
  /** Ends of changes that are committed, by the same. Their answers need not wait for them. */
  readonly #ending = new Map<string, Promise<void>>();

  constructor(options: ChangeTablesOptions) {
    this.#options = options;
  }

  /**
   * The newest version of main for one change.
   * @param at The newest version. The library opens it without asking.
   * @param answer Answers what the library asks once the table is open.
   * @throws as the library does
   */
  async lend(at: TableAtVersion, answer: AnswerVersions): Promise<LentTable> {
    const key = keyOf(at);
    await this.#ending.get(key);
    const open = (await this.#takeIdle(key, at)) ?? (await this.#open(at));
    this.#options.endpoint.answer(open.name, answer);
    let end = (): void => undefined;
    return {
      table: open.table,
      returnSoon: () => {
        end = this.#beginEnd(key);
      },
      giveBack: (version) => {
        this.#giveBack(key, open, version);
        end();
      },
    };
  }

  /** Opens a table for one change. @throws as the library does */
  async open(place: TablePlace, answer: AnswerVersions): Promise<OwnTable> {
    const connected = await this.#connect(place, answer);
    const table = await this.#opened(connected, place.branch);
    return { table, close: () => this.#close({ ...connected, table: nativeTable(table) }) };
  }

  /** Connects to the place of a table that is to be made. */
  async begin(place: TablePlace, answer: AnswerVersions): Promise<NewTable> {
    const connected = await this.#connect(place, answer);
    return {
      ...connected,
      end: (table, version) => {
        if (table === undefined) this.#disconnect(connected);
        else this.#giveBack(keyOf(place), { ...connected, table }, version);
      },
    };
  }

  async #open(at: TableAtVersion): Promise<OpenTable> {
    const connected = await this.#connect(at, pinned(at));
    return { ...connected, table: nativeTable(await this.#opened(connected, at.branch)) };
  }

  async #connect(place: TablePlace, answer: AnswerVersions): Promise<TableConnection> {
    const { library, endpoint, memory } = this.#options;
    const { url: uri, headers } = endpoint;
    const bytes = BigInt(Math.floor(memory / CACHE_SHARE));
    const session = new library.Session(bytes, bytes);
    const connection = await library.connectNamespace('rest', { uri, headers }, { session });
    return { connection, name: endpoint.addOpen(place, answer) };
  }

  async #opened(connected: TableConnection, branch: string): Promise<LanceDb.Table> {
    try {
      return await openAt(connected.connection, connected.name, branch);
    } catch (error) {
      this.#disconnect(connected);
      throw error;
    }
  }

  #disconnect({ connection, name }: TableConnection): void {
    this.#options.endpoint.remove(name);
    connection.close();
  }

  /** Has the next change of a table wait until the function is called that this returns. */
  #beginEnd(key: string): () => void {
    let resolve = (): void => undefined;
    const ended = new Promise<void>((done) => {
      resolve = done;
    });
    this.#ending.set(key, ended);
    return () => {
      if (this.#ending.get(key) === ended) this.#ending.delete(key);
      resolve();
    };
  }

  /** The table as a change left it, at the newest version. */
  async #takeIdle(key: string, at: TableAtVersion): Promise<OpenTable | undefined> {
    const idle = this.#idle.get(key);
    if (idle === undefined) return undefined;
    this.#idle.delete(key);
    const { version } = at.at;
    if (idle.version === version) return idle;
    try {
      // Versions of main only grow: a lower one is another history.
      if (idle.version > version) throw new Error('the catalog went back');
      this.#options.endpoint.answer(idle.name, pinned(at));
      await idle.table.checkoutLatest();
      return idle;
    } catch {
      this.#close(idle);
      return undefined;
    }
  }

  #giveBack(key: string, open: OpenTable, version: number | undefined): void {
    if (version === undefined || this.#idle.has(key)) {
      this.#close(open);
      return;
    }
    this.#options.endpoint.answer(open.name);
    this.#idle.set(key, { ...open, version });
    for (const [oldest, idle] of this.#idle) {
      if (this.#idle.size <= MAX_IDLE) return;
      this.#idle.delete(oldest);
      this.#close(idle);
    }
  }

  #close(open: OpenTable): void {
    open.table.close();
    this.#disconnect(open);
  }
}

/** Other credentials of a store may need another connection. */
function keyOf({ id, location, store }: TablePlace): string {
  return JSON.stringify([id, location, store && connectionOf(store)]);
}
