import { send } from '../service/http.ts';
import { answeredBy } from './engine-kind.ts';
import { declare, groupsOf, newestOf, post, staged, writeRef } from './managed-client.ts';
import { changeHeaders, type Answered, type GroupChange, type TableKind } from './table-kind.ts';

/** The branch of a group. */
const nameOf = (group: number) => `g${group}`;

async function commit(
  url: string,
  table: string,
  change: GroupChange,
  version: number,
): Promise<Answered> {
  const { group } = change;
  const headers = changeHeaders(table, change);
  const body = await staged(url, table, { version, group, branch: nameOf(group) });
  if (body === undefined) return { kind: 'refused' };
  return answeredBy(
    await send(url, `POST /v1/table/${table}/version/create`, { body, headers }),
    () => undefined,
  );
}

const changes: Readonly<
  Record<
    GroupChange['kind'],
    (url: string, table: string, change: GroupChange) => Promise<Answered>
  >
> = {
  // The copy that a branch begins with has the number of what it came from.
  append: (url, table, change) => commit(url, table, change, 1),

  async mark(url, table, change) {
    const { group } = change;
    // Whoever began the branch may have been cut off before it was written down.
    await writeRef(url, table, nameOf(group));
    const newest = await newestOf(url, table, nameOf(group));
    if (newest === undefined) return { kind: 'refused' };
    return commit(url, table, change, newest + 1);
  },

  async remove(url, table, change) {
    const body = { name: nameOf(change.group) };
    const headers = changeHeaders(table, change);
    const reply = await send(url, `POST /v1/table/${table}/branches/delete`, { body, headers });
    return answeredBy(reply, () => undefined);
  },
};

/** A table of Lance clients with branches: each is a group, which its versions mark. */
export const managedBranchKind: TableKind = {
  name: 'branches of a managed table',
  changes: ['append', 'mark', 'remove'],
  most: 6,

  async create(url, table) {
    await declare(url, table);
    await post(
      url,
      `${table}/version/create`,
      (await staged(url, table, { version: 1, group: 0 }))!,
    );
  },

  async change(url, table, change) {
    return changes[change.kind](url, table, change);
  },

  async read(url, table) {
    const { json } = await post(url, `${table}/branches/list`, {});
    const marks = new Map<number, number>();
    for (const name of Object.keys(json['branches'] as object)) {
      const groups = await groupsOf(url, table, name);
      const [group = -1] = groups;
      if (nameOf(group) !== name || groups.some((one) => one !== group)) {
        throw new Error(`the branch ${name} has versions of others: ${groups.join()}`);
      }
      marks.set(group, groups.length - 1);
    }
    return marks;
  },
};
