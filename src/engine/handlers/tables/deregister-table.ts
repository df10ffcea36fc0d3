import { wireLocation } from '../../../storage/object-key.ts';
import { pathToFileURL } from 'node:url';
import type { Answer } from '../../../protocol/backend.ts';
import { jsonAnswer } from '../call/answers.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { TableRecord } from '../../format/records.ts';
import type { Call } from '../call/handler.ts';
import { judgeLeaving, judgeRename } from '../../rules/place-judge.ts';
import { releaseLocation } from '../../versions/lines/locations.ts';
import type { Tables } from '../../versions/tables.ts';
import { placeSummary } from '../../once/commit-summary.ts';
import type { CommitSummary } from '../../../protocol/commit-summary.ts';
import { lanceSnapshot } from '../../format/lance/snapshot.ts';
import { locationOf } from '../../versions/managed/managed-versions.ts';
import type { Snapshot } from '../../format/snapshot.ts';
import type { TableView } from '../call/read-place.ts';
import { rootedPath } from '../../../protocol/database.ts';
import type { ObjectPath } from '../../../protocol/identifier.ts';
import type { JsonValue } from '../../../protocol/json.ts';
import { checkCreatable } from '../../catalog/records/refusals.ts';
import { textField } from '../../base/fields.ts';

/**
 * DeregisterTable: removes the table from the catalog; its files stay for good. The answer names their
 * location even for a table of this engine, since it is recorded nowhere else.
 */
export async function deregisterTable(
  catalog: Catalog,
  tables: Tables,
  call: Call,
): Promise<Answer> {
  const { object } = call.request;
  const answer = (table: TableRecord): Answer =>
    jsonAnswer(
      call,
      { id: object, location: formerLocation(tables, table), properties: table.properties },
      { commit: placeSummary('deregister', table.id) },
    );
  const removalWrites = ({ location }: TableRecord) =>
    location === null ? [] : [releaseLocation(location)];
  return answer(
    await catalog.deregisterTable(object, removalWrites, call.once.seal(answer), (record) =>
      judgeLeaving(call.rules, tables, { path: object, record }, 'deregister'),
    ),
  );
}

/** Location of the files of a table that leaves the catalog. */
export function formerLocation(
  tables: Pick<Tables, 'folder'>,
  table: TableRecord,
): string | undefined {
  const { kind, location } = table;
  if (kind !== 'engine') return location === null ? undefined : wireLocation(location);
  return pathToFileURL(tables.folder(table)).href;
}

/** DropTable. The table can be brought back for a while. */
export async function dropTable(catalog: Catalog, tables: TableView, call: Call): Promise<Answer> {
  const { object } = call.request;
  const answer = ({ location, properties }: TableRecord): Answer =>
    jsonAnswer(call, {
      id: object,
      properties,
      ...(location === null ? {} : { location: wireLocation(location) }),
    });
  const table = await catalog.dropTable(object, call.once.seal(answer), (record) =>
    judgeLeaving(call.rules, tables, { path: object, record }, 'drop'),
  );
  return { ...answer(table), commit: summaryOf(table, await lastSnapshot(tables, table)) };
}

/** Facts of a dropped table in its answer. */
type Last = Pick<Snapshot, 'version' | 'rows'>;

/**
 * The last version of a table, to which nothing is committed any more. A table with an unreadable
 * manifest is dropped too, so this does not throw.
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
  const { version, fragments } = await lanceSnapshot(tables.storage, locationOf(table), content);
  return { version, rows: fragments.reduce((sum, { rows }) => sum + BigInt(rows), 0n) };
}

function summaryOf({ id }: TableRecord, snapshot: Last | undefined): CommitSummary {
  return {
    ...placeSummary('drop', id),
    baseVersion: snapshot?.version ?? null,
    rowsRemoved: snapshot?.rows ?? 0n,
  };
}

/**
 * RenameTable, within a namespace or into another. The right to make a table of
 * the new name is asked for here where the route does not have it.
 */
export async function renameTable(catalog: Catalog, tables: Tables, call: Call): Promise<Answer> {
  const { object, target } = call.request;
  const to = target ?? targetOfBody(call);
  checkCreatable(to);
  if (target === undefined) call.permit.require('CreateTable', to);
  const answer = ({ id }: TableRecord): Answer =>
    jsonAnswer(call, {}, { commit: placeSummary('rename', id), objects: [to] });
  return answer(
    await catalog.renameTable(object, to, call.once.seal(answer), (record) =>
      judgeRename(call.rules, tables, { path: object, record }, to),
    ),
  );
}

/** Without a namespace the table stays in its own; an empty list means the root. */
function targetOfBody(call: Call): ObjectPath {
  const name = textField(call.body, 'new_table_name') ?? '';
  const namespace = call.body['new_namespace_id'];
  if (Array.isArray(namespace)) return rootedPath(call.request, [...texts(namespace), name]);
  return [...call.request.object.slice(0, -1), name];
}

function texts(values: readonly JsonValue[]): readonly string[] {
  return values.filter((value) => typeof value === 'string');
}
