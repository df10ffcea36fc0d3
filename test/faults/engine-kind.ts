import { Table, tableFromIPC, tableToIPC, vectorFromArray } from 'apache-arrow';
import { range } from '../service/insert-ledger.ts';
import { eventually } from '../support/eventually.ts';
import { send, type Reply, type Sent } from '../service/http.ts';
import { changeHeaders, type Answered, type GroupChange, type TableKind } from './table-kind.ts';

/** How many rows a group has: some files are small, some have several batches. */
function rowsIn(group: number): number {
  return 1 + ((group * 37) % 90);
}

function groupBody(group: number, rows: number): Uint8Array {
  const columns = {
    group: vectorFromArray(new Int32Array(rows).fill(group)),
    place: vectorFromArray(Int32Array.from(range(rows))),
    mark: vectorFromArray(new Int32Array(rows)),
  };
  return tableToIPC(new Table(columns), 'stream');
}

const changes: Readonly<
  Record<
    GroupChange['kind'],
    (
      url: string,
      table: string,
      group: number,
      headers: NonNullable<Sent['headers']>,
    ) => Promise<Reply>
  >
> = {
  append: (url, table, group, headers) =>
    send(url, `POST /v1/table/${table}/insert`, {
      body: groupBody(group, rowsIn(group)),
      headers,
    }),
  mark: (url, table, group, headers) =>
    send(url, `POST /v1/table/${table}/update`, {
      body: { predicate: `"group" = ${group}`, updates: [['mark', 'mark + 1']] },
      headers,
    }),
  remove: (url, table, group, headers) =>
    send(url, `POST /v1/table/${table}/delete`, {
      body: { predicate: `"group" = ${group}` },
      headers,
    }),
};

/** A table whose files the engine writes. */
export const engineKind: TableKind = {
  name: 'engine table',
  changes: ['append', 'mark', 'remove'],

  async create(url, table) {
    const body = groupBody(0, 0);
    // A repeat with the same id is answered as the first: a loaded machine may have a Redis that answers late.
    const headers = { 'x-request-id': `create-${table}` };
    await eventually(async () => {
      const reply = await send(url, `POST /v1/table/${table}/create`, { body, headers });
      if (reply.status !== 200) throw new Error(`${table} was not created: ${reply.text}`);
    });
  },

  async change(url, table, change) {
    const { kind, group } = change;
    return answeredBy(await changes[kind](url, table, group, changeHeaders(table, change)));
  },

  async read(url, table) {
    const body = { k: Number.MAX_SAFE_INTEGER, vector: [] };
    const reply = await send(url, `POST /v1/table/${table}/query`, { body });
    if (reply.status !== 200) throw new Error(`${table} cannot be read: ${reply.text}`);
    return marksOf(tableFromIPC(reply.bytes));
  },
};

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

function marksOf(table: Table): ReadonlyMap<number, number> {
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
