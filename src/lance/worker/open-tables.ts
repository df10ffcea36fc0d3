import type { Connection, Table } from '@lancedb/lancedb';
import { connectionOf, type TableAtVersion } from '../wire/messages.ts';
import type { CatalogEndpoint } from './catalog-endpoint.ts';
import type { Await } from './tasks.ts';

/** Tables that stay open between requests. */
const MAX_OPEN = 64;

interface OpenTable {
  readonly name: string;
  readonly table: Promise<Table>;
  /** Running tasks that use it. */
  users: number;
}

/** An open table that a task uses. */
interface LentTable {
  readonly opened: Table;
  /** The next task opens the table again: what the library keeps of damaged files is dropped. */
  spoil(): void;
  giveBack(): void;
}

/**
 * Tables of the library, each open at one version. A version never changes, so that a table is only
 * opened again when the catalog has a newer one.
 */
export class OpenTables {
  readonly #connection: Connection;
  readonly #endpoint: Pick<CatalogEndpoint, 'add' | 'remove'>;
  /** By table, location, branch and version; the least recently used first. */
  readonly #tables = new Map<string, OpenTable>();

  constructor(connection: Connection, endpoint: Pick<CatalogEndpoint, 'add' | 'remove'>) {
    this.#connection = connection;
    this.#endpoint = endpoint;
  }

  /** A table for a task, which gives it back. @throws as the library does */
  async lend(place: TableAtVersion, until: Await): Promise<LentTable> {
    const { store, ...rest } = place;
    const key = JSON.stringify([rest, store && connectionOf(store)]);
    const open = this.#tables.get(key) ?? this.#open(place);
    this.#tables.delete(key);
    this.#tables.set(key, open);
    open.users++;
    const spoil = (): void => {
      if (this.#tables.get(key) === open) this.#tables.delete(key);
    };
    const giveBack = (): void => {
      open.users--;
      if (open.users === 0 && this.#tables.get(key) !== open) this.#close(open);
      this.#closeOldest();
    };
    try {
      return { opened: await until(open.table), spoil, giveBack };
    } catch (error) {
      spoil();
      giveBack();
      throw error;
    }
  }

  #open(place: TableAtVersion): OpenTable {
    const name = this.#endpoint.add(place);
    const { branch, at } = place;
    const table = openAt(this.#connection, name, branch, at.version);
    // Each user waits for it, and fails by itself.
    table.catch(() => undefined);
    return { name, table, users: 0 };
  }

  #closeOldest(): void {
    for (const [key, open] of this.#tables) {
      if (this.#tables.size <= MAX_OPEN) return;
      if (open.users > 0) continue;
      this.#tables.delete(key);
      this.#close(open);
    }
  }

  #close({ name, table }: OpenTable): void {
    this.#endpoint.remove(name);
    table.then(
      (opened) => opened.close(),
      () => undefined,
    );
  }
}

/** Opens a table at the version that the endpoint answers. @param version That of a branch; its newest unless given. */
export async function openAt(
  connection: Connection,
  name: string,
  branch: string,
  version?: number,
): Promise<Table> {
  const main = await connection.openTable(name);
  return branch === 'main' ? main : (await main.branches()).checkout(branch, version);
}
