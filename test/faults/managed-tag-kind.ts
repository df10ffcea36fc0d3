import { range } from '../service/insert-ledger.ts';
import { send } from '../service/http.ts';
import { answeredBy } from './engine-kind.ts';
import { declare, post, staged } from './managed-client.ts';
import { changeHeaders, type Answered, type GroupChange, type TableKind } from './table-kind.ts';

/** The tag of a group. */
const nameOf = (group: number) => `g${group}`;
/** How many versions there are to be named: no tag is moved as often. */
const VERSIONS = 60;

interface Named {
  readonly version: number;
}

const changes: Readonly<
  Record<
    GroupChange['kind'],
    (url: string, table: string, change: GroupChange) => Promise<Answered>
  >
> = {
  append: (url, table, change) =>
    put(url, table, change, 'create', { tag: nameOf(change.group), version: 1 }),

  async mark(url, table, change) {
    const body = { tag: nameOf(change.group) };
    const asked = await send(url, `POST /v1/table/${table}/tags/version`, { body });
    if (asked.status !== 200) return { kind: 'refused' };
    const version = 1 + Number(asked.json['version']);
    if (version > VERSIONS) return { kind: 'refused' };
    return put(url, table, change, 'update', { ...body, version });
  },

  remove: (url, table, change) => put(url, table, change, 'delete', { tag: nameOf(change.group) }),
};

async function put(
  url: string,
  table: string,
  change: GroupChange,
  action: string,
  body: object,
): Promise<Answered> {
  const headers = changeHeaders(table, change);
  const line = `POST /v1/table/${table}/tags/${action}`;
  return answeredBy(await send(url, line, { body, headers }), () => undefined);
}

/** A table of Lance clients with tags: each is a group, marked by moving it on. */
export const managedTagKind: TableKind = {
  name: 'tags of a managed table',
  changes: ['append', 'mark', 'remove'],
  most: 20,

  async create(url, table) {
    await declare(url, table);
    const entries: object[] = [];
    for (const at of range(VERSIONS)) {
      entries.push((await staged(url, table, { version: at + 1, group: 0 }))!);
    }
    await post(url, 'version/batch-create', { entries });
  },

  async change(url, table, change) {
    return changes[change.kind](url, table, change);
  },

  async read(url, table) {
    const { json } = await post(url, `${table}/tags/list`, {});
    const tags = Object.entries(json['tags'] as Readonly<Record<string, Named>>);
    return new Map(tags.map(([name, { version }]) => [Number(name.slice(1)), version - 1]));
  },
};
