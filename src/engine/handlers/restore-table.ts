import { unchanged } from '../catalog/reader.ts';
import type { Handler } from '../handler.ts';
import { branchParameter } from '../parameters.ts';
import { countField } from '../query/fields.ts';
import type { Tables } from '../table/tables.ts';
import type { Committed } from '../table/version-commits.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { versionJudge } from '../rules/version-judge.ts';
import { versionAnswer } from './schema-change.ts';
import { requireEngineTable } from './table-parts.ts';

/** What Lance calls restoring is a commit of a client's own manifest (wire contract, section 10.5). */
const BY_ITS_CLIENT = 'one of them restores a version, with a commit of its own';

/**
 * RestoreTable: the next version has the rows and columns of an older one. The
 * ids of rows and columns that were given out since are not given out again.
 */
export function restoreTable(catalog: Catalog, tables: Tables): Handler {
  return async (call) => {
    const { object } = call.request;
    const version = countField(call.body, 'version') ?? undefined;
    const table = await catalog.requireTable(object);
    requireEngineTable(object, table.content, BY_ITS_CLIENT);
    const chain = await tables.chain(table.content, branchParameter(call));
    const answer = (made: Committed) => versionAnswer(call, 'restore', made);
    const committed = await tables.commit({
      table,
      chain,
      current: () => catalog.requireTable(object),
      // Its files stay only as long as the version does.
      checks: async () => [unchanged(await tables.version(table.content, version, chain))],
      change: async (base) => {
        const from = await tables.snapshot(table.content, version, chain);
        const { schema, fieldIds, fragments, indices } = from;
        return { ...base, schema, fieldIds, fragments, indices };
      },
      judge: versionJudge(call.rules, tables, {
        path: object,
        table: table.content,
        branch: chain.branch,
        action: 'restore',
      }),
      seal: call.once.seal(answer),
    });
    return answer(committed);
  };
}
