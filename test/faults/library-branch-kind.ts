import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Table, tableToIPC, vectorFromArray } from 'apache-arrow';
import { send } from '../service/http.ts';
import { answeredBy, createTable } from './engine-kind.ts';
import { post } from './managed-client.ts';
import { changeHeaders, type Answered, type GroupChange, type TableKind } from './table-kind.ts';

const ROWS = 3;

/** The branch of a group. */
const nameOf = (group: number) => `g${group}`;

const rowOf = (id: number) =>
  tableToIPC(new Table({ id: vectorFromArray(Int32Array.from([id])) }), 'stream');

/** The versions of a branch, in ascending order; undefined while nobody can say. */
async function versionsOn(
  url: string,
  table: string,
  branch: string,
): Promise<readonly number[] | undefined> {
  const line = `POST /v1/table/${table}/version/list?limit=1000&branch=${branch}`;
  const { status, json } = await send(url, line, { body: {} });
  if (status !== 200) return undefined;
  const versions = json['versions'] as readonly { readonly version: number }[];
  return versions.map(({ version }) => version).toSorted((one, other) => one - other);
}

/** The rows of a branch, or of one of its versions; undefined while nobody can say. */
async function rowsAt(
  url: string,
  table: string,
  at: { readonly branch: string; readonly version?: number },
): Promise<number | undefined> {
  const { status, text } = await send(url, `POST /v1/table/${table}/count_rows`, { body: at });
  return status === 200 ? Number(text) : undefined;
}

/** The rows of each version of a branch, in their order. */
async function rowsOfVersions(
  url: string,
  table: string,
  branch: string,
): Promise<readonly number[]> {
  const versions = (await versionsOn(url, table, branch)) ?? [];
  const rows: number[] = [];
  for (const version of versions) rows.push((await rowsAt(url, table, { branch, version })) ?? NaN);
  return rows;
}

const changes: Readonly<
  Record<
    GroupChange['kind'],
    (url: string, table: string, change: GroupChange) => Promise<Answered>
  >
> = {
  append: (url, table, change) =>
    sent(url, table, change, 'branches/create', { name: nameOf(change.group) }),

  /** A row more, and then as it was when it began. */
  async mark(url, table, change) {
    const branch = nameOf(change.group);
    const versions = await versionsOn(url, table, branch);
    const rows = await rowsAt(url, table, { branch });
    if (versions === undefined || rows === undefined) return { kind: 'refused' };
    const [first] = versions;
    return rows === ROWS
      ? sent(url, table, change, `insert?branch=${branch}`, rowOf(ROWS + 1))
      : sent(url, table, change, `restore?branch=${branch}`, { version: first, branch });
  },

  remove: (url, table, change) =>
    sent(url, table, change, 'branches/delete', { name: nameOf(change.group) }),
};

async function sent(
  url: string,
  table: string,
  change: GroupChange,
  action: string,
  body: object,
): Promise<Answered> {
  const headers = changeHeaders(table, change);
  const line = `POST /v1/table/${table}/${action}`;
  return answeredBy(await send(url, line, { body, headers }), () => undefined);
}

/** Names of the branches, or tags, that Lance clients find in the folder of a table. */
export async function refsIn(
  url: string,
  table: string,
  kind: 'branches' | 'tags',
): Promise<readonly string[]> {
  const { json } = await post(url, `${table}/describe`, {});
  const folder = join(String(json['location']).replace('file://', ''), '_refs', kind);
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
    .toSorted();
}

/** A Lance table whose branches the service makes by the library: each is a group, which a row more or less marks. */
export const libraryBranchKind: TableKind = {
  name: 'branches of a Lance table',
  changes: ['append', 'mark', 'remove'],
  most: 5,

  async create(url, table) {
    await createTable(url, table, rowOf(1));
    for (let id = 2; id <= ROWS; id++) {
      const reply = await send(url, `POST /v1/table/${table}/insert`, { body: rowOf(id) });
      if (reply.status !== 200) throw new Error(`${table} was not filled: ${reply.text}`);
    }
  },

  change: (url, table, change) => changes[change.kind](url, table, change),

  async read(url, table) {
    const { json } = await post(url, `${table}/branches/list`, {});
    const names = Object.keys(json['branches'] as object).toSorted();
    const refs = await refsIn(url, table, 'branches');
    if (refs.join() !== names.join()) {
      throw new Error(`${table} has the branches ${names.join()}, and its folder ${refs.join()}`);
    }
    const marks = new Map<number, number>();
    for (const name of names) {
      const rows = await rowsOfVersions(url, table, name);
      // A compaction makes versions too, and keeps the rows.
      const made = rows.slice(1).filter((count, at) => count !== rows[at]).length;
      if (rows.at(-1) !== ROWS + (made % 2))
        throw new Error(`the versions of branch ${name} have ${rows.join()} rows`);
      marks.set(Number(name.slice(1)), made);
    }
    return marks;
  },
};
