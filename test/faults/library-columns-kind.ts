import { Table, tableToIPC, vectorFromArray } from 'apache-arrow';
import { range } from '../service/insert-ledger.ts';
import { send, type Reply } from '../service/http.ts';
import { answeredBy, createTable, rowsOf } from './engine-kind.ts';
import { changeHeaders, type Answered, type GroupChange, type TableKind } from './table-kind.ts';

const ROWS = 40;

/** The column of a group, by how often it was renamed. */
const COLUMN = /^g(\d+)_(\d+)$/;

interface Column {
  readonly name: string;
  readonly group: number;
  readonly marks: number;
}

function columnsIn(names: readonly string[]): readonly Column[] {
  return names.flatMap((name) => {
    const [, group, marks] = COLUMN.exec(name) ?? [];
    return group === undefined ? [] : [{ name, group: Number(group), marks: Number(marks) }];
  });
}

type Schema = { readonly fields: readonly { readonly name: string }[] };

/** The column of a group; the answer that does not say, or undefined if there is none. */
async function columnOf(url: string, table: string, group: number) {
  const reply = await send(url, `POST /v1/table/${table}/describe`, { body: {} });
  if (reply.status !== 200) return reply;
  const { fields } = reply.json['schema'] as Schema;
  return columnsIn(fields.map(({ name }) => name)).find((column) => column.group === group);
}

function isReply(found: Column | Reply): found is Reply {
  return 'status' in found;
}

async function changeOf(
  url: string,
  table: string,
  { kind, group }: GroupChange,
): Promise<readonly [string, object] | Reply | undefined> {
  if (kind === 'append') {
    return [
      'add_columns',
      { new_columns: [{ name: `g${group}_0`, expression: `id * 0 + ${group}` }] },
    ];
  }
  const found = await columnOf(url, table, group);
  if (found === undefined || isReply(found)) return found;
  if (kind === 'remove') return ['drop_columns', { columns: [found.name] }];
  const alteration = { path: found.name, rename: `g${group}_${found.marks + 1}` };
  return ['alter_columns', { alterations: [alteration] }];
}

/** A Lance table whose columns the service changes by the library: each is a group, marked by a rename. */
export const libraryColumnsKind: TableKind = {
  name: 'columns of a Lance table',
  changes: ['append', 'mark', 'remove'],
  most: 8,

  create: (url, table) =>
    createTable(
      url,
      table,
      tableToIPC(new Table({ id: vectorFromArray(Int32Array.from(range(ROWS))) }), 'stream'),
    ),

  async change(url, table, change): Promise<Answered> {
    const request = await changeOf(url, table, change);
    if (request === undefined) throw new Error(`${table} has lost the column of ${change.group}`);
    if ('status' in request) return { kind: 'refused' };
    const [action, body] = request;
    const headers = changeHeaders(table, change);
    return answeredBy(await send(url, `POST /v1/table/${table}/${action}`, { body, headers }));
  },

  async read(url, table) {
    const rows = await rowsOf(url, table);
    const columns = columnsIn(rows.schema.fields.map(({ name }) => name));
    for (const { name, group } of columns) {
      const values = [...(rows.getChild(name) ?? [])].map(Number);
      if (values.length === ROWS && values.every((value) => value === group)) continue;
      throw new Error(`the column ${name} is there by halves: ${values.join(' ')}`);
    }
    const marks = new Map(columns.map(({ group, marks }) => [group, marks]));
    if (marks.size < columns.length) throw new Error(`a column of ${table} is there twice`);
    return marks;
  },
};
