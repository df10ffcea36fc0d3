import { send } from '../service/http.ts';
import { diskFiles, type ClientFiles } from '../support/client-files.ts';
import { answeredBy } from './engine-kind.ts';
import { declare, groupsOf, marksOf, newestOf, staged } from './managed-client.ts';
import { changeHeaders, type TableKind } from './table-kind.ts';

/** The table that gets a version whenever the one of this name does. */
const twinOf = (table: string) => `${table}twin`;

interface Made {
  readonly version: { readonly version: number };
}

/** Two tables that Lance clients write, each version of the one in a batch with one of the other. */
export const managedBatchKind: TableKind = managedBatchKindOn(diskFiles);

/** The same where the files of the tables are. */
export function managedBatchKindOn(files: ClientFiles): TableKind {
  return {
    name: 'pair of managed tables',
    changes: ['append'],

    async create(url, table) {
      for (const name of [table, twinOf(table)]) await declare(url, name);
    },

    async change(url, table, change) {
      const { group } = change;
      const headers = changeHeaders(table, change);
      const newest = await newestOf(url, table);
      if (newest === undefined) return { kind: 'refused' };
      const entries: object[] = [];
      for (const name of [table, twinOf(table)]) {
        const entry = await staged(url, name, { version: newest + 1, group }, files);
        if (entry === undefined) return { kind: 'refused' };
        entries.push(entry);
      }
      // Both ways of committing several versions at once.
      if (group % 2 === 0) {
        const reply = await send(url, 'POST /v1/table/version/batch-create', {
          body: { entries },
          headers,
        });
        return answeredBy(reply, ({ versions }) => (versions as Made['version'][])[0]!.version);
      }
      const operations = entries.map((entry) => ({ create_table_version: entry }));
      const reply = await send(url, 'POST /v1/table/batch-commit', {
        body: { operations },
        headers,
      });
      return answeredBy(reply, ({ results }) => {
        const [first] = results as { create_table_version: Made }[];
        return first!.create_table_version.version.version;
      });
    },

    async read(url, table) {
      const groups = await groupsOf(url, table, undefined, files);
      const others = await groupsOf(url, twinOf(table), undefined, files);
      if (groups.join() !== others.join()) {
        throw new Error(`a batch is there by halves: ${groups.join()} and ${others.join()}`);
      }
      return marksOf(groups);
    },
  };
}
