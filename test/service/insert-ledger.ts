import { setImmediate } from 'node:timers/promises';
import { Table, tableFromIPC, tableToIPC, vectorFromArray } from 'apache-arrow';
import { expect } from 'vitest';
import { send } from './http.ts';

/** What became of an insert, as far as its writer knows. */
interface Entry {
  readonly rows: number;
  /** The version that the answer named; null while there is no answer. */
  version: number | null;
}

/** Rows of each batch of an insert, so that most have several. */
const BATCH_ROWS = 50;

/** An Arrow stream of one insert: each row says which insert it is of, and its place in it. */
function rowsBody(insert: number, rows: number): Uint8Array {
  const places = Int32Array.from({ length: rows }, (_, row) => row);
  const table = new Table({
    insert: vectorFromArray(new Int32Array(rows).fill(insert)),
    place: vectorFromArray(places),
  });
  const parts = range(Math.ceil(rows / BATCH_ROWS)).map((part) =>
    table.slice(part * BATCH_ROWS, (part + 1) * BATCH_ROWS),
  );
  return tableToIPC(
    rows === 0 ? table : new Table(parts.flatMap((part) => part.batches)),
    'stream',
  );
}

/** A body in two pieces, so that the server has begun to write before it has all. */
async function* inTwo(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const middle = bytes.length >> 1;
  yield bytes.subarray(0, middle);
  await setImmediate();
  yield bytes.subarray(middle);
}

const schemaBody = rowsBody(0, 0);

/** A table that is only appended to, and what its writers know of it. */
export class InsertLedger {
  readonly table: string;
  readonly #entries = new Map<number, Entry>();
  #next = 0;

  constructor(table: string) {
    this.table = table;
  }

  async create(url: string): Promise<void> {
    const body = schemaBody;
    expect((await send(url, `POST /v1/table/${this.table}/create`, { body })).status).toBe(200);
  }

  /** Inserts so many rows. Rejects when the connection is lost. */
  async insert(url: string, rows: number): Promise<void> {
    const id = this.#next++;
    const entry: Entry = { rows, version: null };
    this.#entries.set(id, entry);
    const body = inTwo(rowsBody(id, rows));
    const reply = await send(url, `POST /v1/table/${this.table}/insert`, { body });
    expect([reply.status, reply.text]).toEqual([200, expect.anything()]);
    entry.version = Number(reply.json['version']);
  }

  get acknowledged(): number {
    return [...this.#entries.values()].filter(({ version }) => version !== null).length;
  }

  /**
   * Holds the table against what is known: every acknowledged insert is there
   * once and whole, every other one whole or not at all, and each one that is
   * there has a version of its own.
   */
  async check(url: string): Promise<void> {
    const found = await this.#found(url);
    for (const [id, { rows, version }] of this.#entries) {
      const places = found.get(id) ?? [];
      found.delete(id);
      if (version === null && places.length === 0) this.#entries.delete(id);
      else expect(places, `insert ${id} of ${this.table}`).toEqual(range(rows));
    }
    expect([...found.keys()], 'inserts that nobody made').toEqual([]);
    await this.#checkVersions(url);
  }

  async #found(url: string): Promise<Map<number, number[]>> {
    const body = { k: Number.MAX_SAFE_INTEGER, vector: [] };
    const reply = await send(url, `POST /v1/table/${this.table}/query`, { body });
    expect(reply.status).toBe(200);
    const table = tableFromIPC(reply.bytes);
    const found = new Map<number, number[]>();
    const places = table.getChild('place')!;
    let row = 0;
    for (const insert of table.getChild('insert')!) {
      const known = found.get(insert) ?? [];
      known.push(places.get(row++));
      found.set(insert, known);
    }
    return found;
  }

  async #checkVersions(url: string): Promise<void> {
    const versions = await versionsOf(url, this.table);
    expect(versions).toEqual(range(versions.length).map((version) => version + 1));
    const named = [...this.#entries.values()].flatMap(({ version }) => version ?? []);
    expect(new Set(named).size).toBe(named.length);
    expect(named.every((version) => versions.includes(version))).toBe(true);
    // The first is the creation; each insert that took effect made one, and so did each merge.
    const merges = await this.#mergesIn(
      url,
      new Set(versions.filter((version) => version > 1 && !named.includes(version))),
    );
    expect(versions.length - merges).toBe(this.#entries.size + 1);
  }

  /** How many versions have the rows of the one before: small files were merged. */
  async #mergesIn(url: string, versions: ReadonlySet<number>): Promise<number> {
    let merges = 0;
    for (const version of versions) {
      const [before, rows] = [await this.#rows(url, version - 1), await this.#rows(url, version)];
      if (before === rows) merges++;
    }
    return merges;
  }

  async #rows(url: string, version: number): Promise<number> {
    const line = `POST /v1/table/${this.table}/count_rows`;
    return Number((await send(url, line, { body: { version } })).text);
  }
}

/** A table whose rows are replaced again and again by one writer. */
export class OverwriteLedger {
  readonly table: string;
  #next = 0;
  #known: readonly number[] = [0];

  constructor(table: string) {
    this.table = table;
  }

  async create(url: string): Promise<void> {
    expect(
      (await send(url, `POST /v1/table/${this.table}/create`, { body: schemaBody })).status,
    ).toBe(200);
  }

  async overwrite(url: string): Promise<void> {
    const id = ++this.#next;
    this.#known = [...this.#known, id];
    const body = inTwo(rowsBody(id, id));
    const reply = await send(url, `POST /v1/table/${this.table}/insert?mode=overwrite`, { body });
    expect(reply.status).toBe(200);
    this.#known = [id];
  }

  /** The rows are all of the last acknowledged overwrite, or all of the one that was in progress. */
  async check(url: string): Promise<void> {
    const body = { k: Number.MAX_SAFE_INTEGER, vector: [] };
    const reply = await send(url, `POST /v1/table/${this.table}/query`, { body });
    const inserts = [...(tableFromIPC(reply.bytes).getChild('insert') ?? [])].map(Number);
    const id = inserts[0] ?? 0;
    expect(inserts).toEqual(range(id).map(() => id));
    expect(this.#known).toContain(id);
    this.#known = [id];
    const versions = await versionsOf(url, this.table);
    expect(versions).toEqual(range(versions.length).map((version) => version + 1));
  }
}

/** All versions of a table, page by page, in the order answered. */
export async function versionsOf(url: string, table: string): Promise<number[]> {
  const all: number[] = [];
  for (let token = ''; ;) {
    const target = `/v1/table/${table}/version/list?limit=500&page_token=${token}`;
    const { json } = await send(url, `POST ${target}`);
    const page = json as { versions: { version: number }[]; page_token?: string };
    all.push(...page.versions.map(({ version }) => version));
    if (page.page_token === undefined) return all;
    token = page.page_token;
  }
}

export function range(count: number): number[] {
  return Array.from({ length: count }, (_, at) => at);
}
