import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LanceTableChange } from '../../../src/engine/versions/managed/lance-library.ts';
import { CatalogEndpoint } from '../../../src/lance/worker/catalog-endpoint.ts';
import { ChangeTables } from '../../../src/lance/worker/change-tables.ts';
import { changedTable } from '../../../src/lance/worker/table-change.ts';
import type {
  TableAtVersion,
  VersionQuestion,
  VersionReply,
} from '../../../src/lance/wire/messages.ts';
import { arrow, lancedb, tableOf } from '../../clients/lancedb.ts';
import { waitUntil } from '../../support/eventually.ts';
import { manifestName } from '../../support/lance-table.ts';

const MEMORY = 2 ** 30;

let folder: string;
let endpoint: CatalogEndpoint;
let tables: ChangeTables;
let connections: number;

/** The library, of which the connections are counted. */
const library: typeof lancedb = {
  ...lancedb,
  connectNamespace: ((name: string, properties: Record<string, string>, options?: object) => {
    connections++;
    return lancedb.connectNamespace(name, properties, options);
  }) as typeof lancedb.connectNamespace,
};

beforeEach(async () => {
  connections = 0;
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-'));
  endpoint = await CatalogEndpoint.open();
  tables = new ChangeTables({ library, endpoint, memory: MEMORY });
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

function idsOf(...ids: readonly number[]) {
  return tableOf([{ name: 'id', type: new arrow.Int32(), values: ids }]);
}

/** A table whose versions are committed one after the other, as the gateway does it. */
class CommittedTable {
  readonly #name: string;
  #version = 1;
  /** What the library asked. */
  readonly asked: string[] = [];
  /** The answer to the next commit, if it is refused. */
  refusal: number | undefined;
  /** Called in a later turn than each commit. */
  committed: () => void = () => undefined;

  private constructor(name: string) {
    this.#name = name;
  }

  static async make(name: string, ...ids: readonly number[]): Promise<CommittedTable> {
    (await (await lancedb.connect(folder)).createTable(name, idsOf(...ids))).close();
    return new CommittedTable(name);
  }

  /** One that the library is to make. */
  static unmade(name: string): CommittedTable {
    const table = new CommittedTable(name);
    table.#version = 0;
    return table;
  }

  get place(): TableAtVersion {
    const version = this.#version;
    const manifest = join('_versions', manifestName(BigInt(version)));
    const [at, location] = [{ version, manifest }, join(folder, `${this.#name}.lance`)];
    return { id: this.#name, location, branch: 'main', at, main: at };
  }

  change(change: LanceTableChange, ...ids: readonly number[]): Promise<object> {
    return this.#change(change, ids, true);
  }

  create(isKept: boolean, ...ids: readonly number[]): Promise<object> {
    return this.#change({ kind: 'create' }, ids, isKept);
  }

  #change(change: LanceTableChange, ids: readonly number[], isKept: boolean): Promise<object> {
    const rows = arrow.tableToIPC(idsOf(...ids), 'file');
    const until = <Result>(work: Promise<Result>): Promise<Result> => work;
    const { place } = this;
    const ask = (question: VersionQuestion): Promise<VersionReply> => this.answer(question);
    const newest = change.kind === 'create' ? null : place;
    const parts = { library, tables, place, newest, isKept, rows, ask, until };
    return changedTable(parts, change);
  }

  async answer({ action, body }: VersionQuestion): Promise<VersionReply> {
    this.asked.push(action);
    if (action === 'version/create') {
      const { refusal } = this;
      this.refusal = undefined;
      if (refusal !== undefined) return { status: refusal, value: { error: 'no', code: 14 } };
      const version = Number(body['version']);
      const final = join(this.place.location, '_versions', manifestName(BigInt(version)));
      await rename(join('/', String(body['manifest_path'])), final);
      this.#version = version;
      setImmediate(() => this.committed());
    }
    const { location, at } = this.place;
    const manifest_path = join(location, at.manifest).slice(1);
    const entry = { version: at.version, manifest_path, timestamp_millis: 0 };
    const isList = action === 'version/list';
    const versions = at.version === 0 ? [] : [entry];
    return { status: 200, value: isList ? { versions } : { version: entry } };
  }

  async ids(): Promise<readonly number[]> {
    const table = await (await lancedb.connect(folder)).openTable(this.#name);
    const rows = await table.query().toArray();
    return rows.map(({ id }) => Number(id)).toSorted((a, b) => a - b);
  }
}

describe('tables that are open for changes', () => {
  it('are used again after a committed change, and not opened', async () => {
    const table = await CommittedTable.make('rows', 1, 2);
    await table.change({ kind: 'append' }, 3);
    const first = [...table.asked];
    const kept = await tables.lend(table.place, (question) => table.answer(question));
    kept.giveBack(table.place.at.version);
    await table.change({ kind: 'append' }, 4);
    const again = await tables.lend(table.place, (question) => table.answer(question));
    expect(again.table).toBe(kept.table);
    expect(first).toContain('version/create');
    expect(await table.ids()).toEqual([1, 2, 3, 4]);
  });

  it('are used for the first change of a table that the library made', async () => {
    const table = CommittedTable.unmade('rows');
    await table.create(true, 1, 2);
    await table.change({ kind: 'delete', predicate: 'id = 1' });
    await table.change({ kind: 'update', predicate: null, updates: [['id', 'id + 10']] });
    expect(connections).toBe(1);
    expect(await table.ids()).toEqual([12]);
  });

  it('are opened after a creation whose version may become another one', async () => {
    const table = CommittedTable.unmade('rows');
    await table.create(false, 1, 2);
    await table.change({ kind: 'delete', predicate: 'id = 1' });
    expect(connections).toBe(2);
  });

  it('are not kept of a creation that the catalog refused', async () => {
    const table = CommittedTable.unmade('rows');
    table.refusal = 400;
    await table.create(true, 1);
    await expect(tables.lend(table.place, (question) => table.answer(question))).rejects.toThrow();
  });

  it('are closed after a refused change, of which the next one knows nothing', async () => {
    const table = await CommittedTable.make('rows', 1, 2);
    await table.change({ kind: 'append' }, 3);
    const kept = await tables.lend(table.place, (question) => table.answer(question));
    kept.giveBack(table.place.at.version);
    table.refusal = 400;
    await table.change({ kind: 'append' }, 4);
    expect(kept.table.isOpen()).toBe(false);
    await table.change({ kind: 'update', predicate: null, updates: [['id', 'id + 10']] });
    expect(await table.ids()).toEqual([11, 12, 13]);
  });

  it('are closed after a change that came second', async () => {
    const table = await CommittedTable.make('rows', 1, 2);
    table.refusal = 409;
    await table.change({ kind: 'append' }, 3);
    const next = await tables.lend(table.place, (question) => table.answer(question));
    next.giveBack(table.place.at.version);
    table.refusal = 409;
    await table.change({ kind: 'append' }, 4);
    expect(next.table.isOpen()).toBe(false);
    expect(await table.ids()).toEqual([1, 2, 3, 4]);
  });

  it('see what others committed since', async () => {
    const table = await CommittedTable.make('rows', 1, 2);
    await table.change({ kind: 'append' }, 3);
    const other = new ChangeTables({ library, endpoint, memory: MEMORY });
    const mine = tables;
    tables = other;
    await table.change({ kind: 'append' }, 4);
    tables = mine;
    await table.change({ kind: 'delete', predicate: 'id IN (1, 4)' });
    expect(await table.ids()).toEqual([2, 3]);
  });

  it('are waited for after a commit, and not opened beside it', async () => {
    const table = await CommittedTable.make('rows', 1);
    const answer = (question: VersionQuestion): Promise<VersionReply> => table.answer(question);
    const one = await tables.lend(table.place, answer);
    one.returnSoon();
    const next = tables.lend(table.place, answer);
    one.giveBack(1);
    expect((await next).table).toBe(one.table);
    (await next).giveBack(1);
  });

  it('are asked to return as soon as the catalog has committed', async () => {
    const table = await CommittedTable.make('rows', 1);
    await table.change({ kind: 'append' }, 2);
    const kept = await tables.lend(table.place, (question) => table.answer(question));
    kept.giveBack(table.place.at.version);
    let next: Promise<{ readonly table: unknown }> | undefined;
    table.committed = () => {
      // The turn of the commit before may come late.
      if (table.place.at.version === 3)
        next ??= tables.lend(table.place, (question) => table.answer(question));
    };
    await table.change({ kind: 'append' }, 3);
    // The library may have ended before the turn of the commit.
    await waitUntil(() => next !== undefined);
    expect((await next)?.table).toBe(kept.table);
  });

  it('are never shared by two changes', async () => {
    const table = await CommittedTable.make('rows', 1);
    const answer = (question: VersionQuestion): Promise<VersionReply> => table.answer(question);
    const [one, other] = [
      await tables.lend(table.place, answer),
      await tables.lend(table.place, answer),
    ];
    expect(one.table).not.toBe(other.table);
    one.giveBack(1);
    other.giveBack(1);
    expect([one.table.isOpen(), other.table.isOpen()]).toEqual([true, false]);
  });

  it('answer nothing while nobody changes them', async () => {
    const table = await CommittedTable.make('rows', 1);
    const lent = await tables.lend(table.place, (question) => table.answer(question));
    lent.giveBack(1);
    table.asked.length = 0;
    await expect(lent.table.checkoutLatest()).rejects.toThrow();
    expect(table.asked).toEqual([]);
  });

  it('are few', async () => {
    const lent = [];
    for (let at = 0; at < 9; at++) {
      const table = await CommittedTable.make(`rows-${at}`, 1);
      lent.push(await tables.lend(table.place, (question) => table.answer(question)));
    }
    for (const each of lent) each.giveBack(1);
    expect(lent.map(({ table }) => table.isOpen())).toEqual([false, ...Array(8).fill(true)]);
  });
});
