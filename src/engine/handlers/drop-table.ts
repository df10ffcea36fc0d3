import type { Answer } from '../../protocol/backend.ts';
import type { CommitSummary } from '../../protocol/commit-summary.ts';
import { jsonAnswer } from '../answers.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { TableRecord } from '../catalog/records.ts';
import type { Call } from '../handler.ts';
import { lanceSnapshot } from '../lance/snapshot.ts';
import { judgeLeaving } from '../rules/place-judge.ts';
import { placeSummary } from './commit-summary.ts';
import { locationOf } from '../managed/managed-versions.ts';
import type { Snapshot } from '../table/snapshot.ts';
import type { TableView } from './table-view.ts';

/** DropTable. The table can be brought back for a while. */
export async function dropTable(catalog: Catalog, tables: TableView, call: Call): Promise<Answer> {
  const { object } = call.request;
  const answer = ({ location, properties }: TableRecord): Answer =>
    jsonAnswer(call, { id: object, properties, ...(location === null ? {} : { location }) });
  const table = await catalog.dropTable(object, call.once.seal(answer), (record) =>
    judgeLeaving(call.rules, tables, { path: object, record }, 'drop'),
  );
  return { ...answer(table), commit: summaryOf(table, await lastSnapshot(tables, table)) };
}

/** What is said of a table that is gone. */
type Last = Pick<Snapshot, 'version' | 'rows'>;

/**
 * The table as it was in the end: nothing is committed to it any more. One whose
 * manifest cannot be read is dropped all the same, so nothing is thrown.
 */
async function lastSnapshot(tables: TableView, table: TableRecord): Promise<Last | undefined> {
  try {
    return table.kind === 'engine' ? await tables.snapshot(table) : await lastOf(tables, table);
  } catch {
    return undefined;
  }
}

async function lastOf(tables: TableView, table: TableRecord): Promise<Last> {
  const { content } = await tables.version(table);
  const { version, fragments } = await lanceSnapshot(locationOf(table), content);
  return { version, rows: fragments.reduce((sum, { rows }) => sum + BigInt(rows), 0n) };
}

function summaryOf({ id }: TableRecord, snapshot: Last | undefined): CommitSummary {
  return {
    ...placeSummary('drop', id),
    baseVersion: snapshot?.version ?? null,
    rowsRemoved: snapshot?.rows ?? 0n,
  };
}
