import type { Answer } from '../../protocol/backend.ts';
import { jsonAnswer } from '../answers.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { tookNoEffect } from '../catalog/commit-loop.ts';
import { checkComputed } from '../change/computed-values.ts';
import type { Call } from '../handler.ts';
import { branchParameter } from '../parameters.ts';
import { rowsOf, type Contents } from '../table/change.ts';
import { ColumnWriter } from '../table/column-writer.ts';
import type { FragmentReader } from '../table/fragment-reader.ts';
import type { Manifest } from '../table/manifest.ts';
import type { Snapshot } from '../table/snapshot.ts';
import type { Tables } from '../table/tables.ts';
import type { Committed } from '../table/version-commits.ts';
import { versionJudge } from '../rules/version-judge.ts';
import { commitSummary } from './commit-summary.ts';
import { requireEngineTable } from './table-parts.ts';

/** What the operations that change a table's columns work with. */
export interface SchemaParts {
  readonly catalog: Catalog;
  readonly tables: Tables;
  readonly reader: FragmentReader;
}

/** The newest version of a table, with what reads its rows and what writes further columns. */
export interface ChangeBase {
  readonly base: Manifest;
  readonly snapshot: Snapshot;
  readonly reader: FragmentReader;
  readonly writer: ColumnWriter;
}

/** The next version of a table, computed from the newest; again when another writer was first. */
export type SchemaChange = (on: ChangeBase) => Contents | Promise<Contents>;

/**
 * Makes the next version of the table that a request names. Files that the
 * change wrote and the version does not name are removed.
 * @param answer What is answered, from what is committed.
 * @throws CatalogError TableNotFound, TableBranchNotFound, why the table's rows
 * are not here, ConcurrentModification, and whatever the change refuses.
 */
export async function commitSchemaChange(
  { catalog, tables, reader }: SchemaParts,
  call: Call,
  change: SchemaChange,
  answer: (committed: Committed) => Answer,
): Promise<Answer> {
  const { object } = call.request;
  const table = await catalog.requireTable(object);
  requireEngineTable(object, table.content);
  const chain = await tables.chain(table.content, branchParameter(call));
  const folder = tables.folder(table.content);
  const writer = new ColumnWriter(reader, folder);
  const tableId = table.content.id;
  try {
    const committed = await tables.commit({
      table,
      chain,
      current: () => catalog.requireTable(object),
      change: async (base) => {
        const snapshot = { tableId, folder, rows: rowsOf(base), ...base };
        const next = await change({ base, snapshot, reader, writer });
        checkComputed(base.schema, next.schema);
        return next;
      },
      judge: versionJudge(call.rules, tables, {
        path: object,
        table: table.content,
        branch: chain.branch,
        action: 'schema',
      }),
      seal: call.once.seal(answer),
    });
    await writer.keepOnly(committed.manifest.fragments);
    return answer(committed);
  } catch (error) {
    if (tookNoEffect(error)) await writer.keepOnly([]);
    throw error;
  }
}

/** The answer of a schema operation: which version it made. */
export function versionAnswer(
  call: Call,
  kind: string,
  committed: Committed,
  more: object = {},
): Answer {
  const answer = { version: committed.manifest.version, ...more };
  return jsonAnswer(call, answer, { commit: commitSummary(kind, committed) });
}
