import { send } from '../service/http.ts';
import { diskFiles, type ClientFiles } from '../support/client-files.ts';
import { answeredBy } from './engine-kind.ts';
import { declare, groupsOf, marksOf, newestOf, staged } from './managed-client.ts';
import { changeHeaders, type TableKind } from './table-kind.ts';

/** A table that Lance clients write, and whose versions they commit through the catalog. */
export const managedKind: TableKind = managedKindOn(diskFiles);

/** The same where the files of the table are. */
export function managedKindOn(files: ClientFiles): TableKind {
  return {
    name: 'managed table',
    changes: ['append'],
    create: declare,

    async change(url, table, change) {
      const { group } = change;
      const newest = await newestOf(url, table);
      if (newest === undefined) return { kind: 'refused' };
      const body = await staged(url, table, { version: newest + 1, group }, files);
      if (body === undefined) return { kind: 'refused' };
      const reply = await send(url, `POST /v1/table/${table}/version/create`, {
        body,
        headers: changeHeaders(table, change),
      });
      return answeredBy(reply, ({ version }) => (version as { version: number }).version);
    },

    async read(url, table) {
      return marksOf(await groupsOf(url, table, undefined, files));
    },
  };
}
