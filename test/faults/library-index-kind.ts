import { Table, tableToIPC, vectorFromArray } from 'apache-arrow';
import { setTimeout as sleep } from 'node:timers/promises';
import { range } from '../service/insert-ledger.ts';
import { send } from '../service/http.ts';
import { waitUntil } from '../support/eventually.ts';
import { answeredBy, createTable } from './engine-kind.ts';
import { post } from './managed-client.ts';
import { changeHeaders, type Answered, type GroupChange, type TableKind } from './table-kind.ts';

const ROWS = 300;
const COLUMNS = range(6).map((at) => `c${at}`);
const TYPES = ['BTREE', 'BITMAP'];
const PAUSE_MILLIS = 20;

/** The index of a group. */
const nameOf = (group: number) => `g${group}`;

interface Listed {
  readonly index_name: string;
  readonly num_indexed_rows: number;
}

async function append(url: string, table: string, change: GroupChange): Promise<Answered> {
  const { group } = change;
  const column = COLUMNS[group % COLUMNS.length];
  const body = { column, index_type: TYPES[group % TYPES.length], name: nameOf(group) };
  const headers = changeHeaders(table, change);
  const reply = await send(url, `POST /v1/table/${table}/create_index`, { body, headers });
  const asked = answeredBy(reply, () => undefined);
  return asked.kind === 'made' ? ended(url, String(reply.json['transaction_id'])) : asked;
}

/** What became of a job. */
async function ended(url: string, id: string): Promise<Answered> {
  for (;;) {
    const reply = await send(url, `POST /v1/transaction/${id}/describe`, { body: {} });
    const status = reply.status === 200 ? reply.json['status'] : undefined;
    if (status === 'SUCCEEDED') return { kind: 'made', version: undefined };
    if (status === 'FAILED') throw new Error(`an index was not built: ${reply.text}`);
    await sleep(PAUSE_MILLIS);
  }
}

async function isIdle(url: string): Promise<boolean> {
  const { json } = await send(url, 'POST /v1/jobs/list', { body: {} });
  const jobs = json['jobs'] as readonly { readonly state: string }[];
  return !jobs.some(({ state }) => state === 'IN_PROGRESS');
}

/** A Lance table whose indices the service has the library build: each is a group. */
export const libraryIndexKind: TableKind = {
  name: 'indices of a Lance table',
  changes: ['append', 'remove'],
  most: 6,

  create(url, table) {
    const columns = COLUMNS.map((name, at) => [
      name,
      vectorFromArray(Int32Array.from(range(ROWS), (row) => row % (at + 2))),
    ]);
    return createTable(url, table, tableToIPC(new Table(Object.fromEntries(columns)), 'stream'));
  },

  async change(url, table, change) {
    if (change.kind === 'append') return append(url, table, change);
    const line = `POST /v1/table/${table}/index/${nameOf(change.group)}/drop`;
    return answeredBy(
      await send(url, line, { body: {}, headers: changeHeaders(table, change) }),
      () => undefined,
    );
  },

  async read(url, table) {
    await waitUntil(() => isIdle(url));
    const { json } = await post(url, `${table}/index/list`, {});
    const indexes = json['indexes'] as readonly Listed[];
    const half = indexes.find((index) => index.num_indexed_rows !== ROWS);
    if (half !== undefined) throw new Error(`an index is there by halves: ${JSON.stringify(half)}`);
    return new Map(indexes.map((index) => [Number(index.index_name.slice(1)), 0]));
  },
};
