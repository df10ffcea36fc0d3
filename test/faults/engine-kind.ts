import { Table, tableFromIPC, tableToIPC, vectorFromArray } from 'apache-arrow';
import { range } from '../service/insert-ledger.ts';
import { eventually } from '../support/eventually.ts';
import { send, type Reply, type Sent } from '../service/http.ts';
import { changeHeaders, type Answered, type GroupChange, type TableKind } from './table-kind.ts';

/** How many rows a group has: some files are small, some have several batches. */
export function rowsIn(group: number): number {
  return 1 + ((group * 37) % 90);
}

/** The rows of a group as an Arrow stream. */
export function groupBody(group: number, rows: number, marks = 0): Uint8Array {
  const columns = {
    group: vectorFromArray(new Int32Array(rows).fill(group)),
    place: vectorFromArray(Int32Array.from(range(rows))),
    mark: vectorFromArray(new Int32Array(rows).fill(marks)),
  };
  return tableToIPC(new Table(columns), 'stream');
}

/** Sends each kind of change of a group of rows. */
export type RowChanges = Readonly<
  Record<
    GroupChange['kind'],
    (
      url: string,
      table: string,
      group: number,
      headers: NonNullable<Sent['headers']>,
    ) => Promise<Reply>
  >
>;

/** Inserts, updates and deletes. @param predicateOf A predicate for the rows of a group. */
export function rowChanges(predicateOf: (group: number) => string): RowChanges {
  return {
    append: (url, table, group, headers) =>
      send(url, `POST /v1/table/${table}/insert`, {
        body: groupBody(group, rowsIn(group)),
        headers,
      }),
    mark: (url, table, group, headers) =>
      send(url, `POST /v1/table/${table}/update`, {
        body: { predicate: predicateOf(group), updates: [['mark', 'mark + 1']] },
        headers,
      }),
    remove: (url, table, group, headers) =>
      send(url, `POST /v1/table/${table}/delete`, {
        body: { predicate: predicateOf(group) },
        headers,
      }),
  };
}

/** A table of groups of rows, changed by requests. */
export function rowsKind(name: string, requests: RowChanges): TableKind {
  return {
    name,
    changes: ['append', 'mark', 'remove'],
    create: (url, table) => createTable(url, table, groupBody(0, 0)),
    async change(url, table, change) {
      const { kind, group } = change;
      return answeredBy(await requests[kind](url, table, group, changeHeaders(table, change)));
    },
    read: async (url, table) => marksOf(await rowsOf(url, table)),
  };
}

/** A table whose files the engine writes. */
export const engineKind = rowsKind(
  'engine table',
  rowChanges((group) => `"group" = ${group}`),
);

/** Creates a table with the rows of a stream. */
export async function createTable(url: string, table: string, body: Uint8Array): Promise<void> {
  // A repeat with the same id is answered as the first: a loaded machine may have a Redis that answers late.
  const headers = { 'x-request-id': `create-${table}` };
  await eventually(async () => {
    const reply = await send(url, `POST /v1/table/${table}/create`, { body, headers });
    if (reply.status !== 200) throw new Error(`${table} was not created: ${reply.text}`);
  });
}

/** All rows of a table. */
export async function rowsOf(url: string, table: string): Promise<Table> {
  const body = { k: Number.MAX_SAFE_INTEGER, vector: [] };
  const reply = await send(url, `POST /v1/table/${table}/query`, { body });
  if (reply.status !== 200) throw new Error(`${table} cannot be read: ${reply.text}`);
  return tableFromIPC(reply.bytes);
}

/** What an answer says of a change, whose version is somewhere in it. @throws Error for one that no writer should get. */
export function answeredBy(
  { status, text, json }: Reply,
  versionIn: (body: Reply['json']) => unknown = (body) => Number(body['version']),
): Answered {
  if (status === 200) {
    const version = versionIn(json);
    return { kind: 'made', version: version === undefined ? undefined : Number(version) };
  }
  if (status === 409) return { kind: 'refused' };
  if (status === 503) return { kind: 'unknown' };
  throw new Error(`a change was answered ${status} ${text}`);
}

/** The marks of the groups in a table. @throws Error for a group that is there by halves */
export function marksOf(table: Table): ReadonlyMap<number, number> {
  const [groups, places, marks] = ['group', 'place', 'mark'].map((name) => [
    ...(table.getChild(name) ?? []),
  ]);
  const rows = new Map<number, { place: number; mark: number }[]>();
  for (const [row, group] of groups!.entries()) {
    const known = rows.get(group) ?? [];
    known.push({ place: places![row], mark: marks![row] });
    rows.set(group, known);
  }
  return new Map([...rows].map(([group, own]) => [group, markOf(group, own)]));
}

/** The one mark of all rows of a group. */
function markOf(group: number, rows: readonly { place: number; mark: number }[]): number {
  const { mark } = rows[0]!;
  const places = rows.map(({ place }) => place).toSorted((left, right) => left - right);
  const whole = places.join() === range(rowsIn(group)).join();
  if (whole && rows.every((row) => row.mark === mark)) return mark;
  const said = rows.map((row) => `${row.place}:${row.mark}`).join(' ');
  throw new Error(`group ${group} of ${rowsIn(group)} rows is there by halves: ${said}`);
}
