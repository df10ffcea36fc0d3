import { range } from '../service/insert-ledger.ts';
import { send } from '../service/http.ts';
import { answeredBy } from './engine-kind.ts';
import { declare, post, staged } from './managed-client.ts';
import type { Answered, GroupChange, TableKind } from './table-kind.ts';

/** The tag of a group. */
const nameOf = (group: number) => `g${group}`;
/** How many versions there are to be named: no tag is moved as often. */
const VERSIONS = 60;

interface Named {
  readonly version: number;
}

const changes: Readonly<
  Record<GroupChange['kind'], (url: string, table: string, group: number) => Promise<Answered>>
> = {
  append: (url, table, group) =>
    put(url, `${table}/tags/create`, { tag: nameOf(group), version: 1 }),

  async mark(url, table, group) {
    const body = { tag: nameOf(group) };
    const asked = await send(url, `POST /v1/table/${table}/tags/version`, { body });
    if (asked.status !== 200) return { kind: 'refused' };
    const version = 1 + Number(asked.json['version']);
    if (version > VERSIONS) return { kind: 'refused' };
    return put(url, `${table}/tags/update`, { ...body, version });
  },

  remove: (url, table, group) => put(url, `${table}/tags/delete`, { tag: nameOf(group) }),
};

async function put(url: string, path: string, body: object): Promise<Answered> {
  return answeredBy(await send(url, `POST /v1/table/${path}`, { body }), () => undefined);
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

  async change(url, table, { kind, group }) {
    return changes[kind](url, table, group);
  },

  async read(url, table) {
    const { json } = await post(url, `${table}/tags/list`, {});
    const tags = Object.entries(json['tags'] as Readonly<Record<string, Named>>);
    return new Map(tags.map(([name, { version }]) => [Number(name.slice(1)), version - 1]));
  },
};
