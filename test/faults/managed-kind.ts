import { send } from '../service/http.ts';
import { answeredBy, groupHeader } from './engine-kind.ts';
import { declare, groupsOf, marksOf, newestOf, staged } from './managed-client.ts';
import type { TableKind } from './table-kind.ts';

/** A table that Lance clients write, and whose versions they commit through the catalog. */
export const managedKind: TableKind = {
  name: 'managed table',
  changes: ['append'],
  tellsGroup: true,
  create: declare,

  async change(url, table, { group }) {
    const newest = await newestOf(url, table);
    if (newest === undefined) return { kind: 'refused' };
    const body = await staged(url, table, { version: newest + 1, group });
    if (body === undefined) return { kind: 'refused' };
    const reply = await send(url, `POST /v1/table/${table}/version/create`, {
      body,
      headers: groupHeader(group),
    });
    return answeredBy(reply, ({ version }) => (version as { version: number }).version);
  },

  async read(url, table) {
    return marksOf(await groupsOf(url, table));
  },
};
