import type { Answer } from '../../../protocol/backend.ts';
import { jsonAnswer } from '../call/answers.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { tookNoEffect } from '../../catalog/records/commit-loop.ts';
import { checkComputed } from '../../change/computed-values.ts';
import type { Call } from '../call/handler.ts';
import { branchParameter } from '../call/parameters.ts';
import { liveRowTotal, type Contents } from '../../format/change.ts';
import { ColumnWriter } from '../../versions/lines/column-writer.ts';
import type { FragmentReader } from '../../query/scan/fragment-reader.ts';
import type { Manifest } from '../../format/manifest.ts';
import type { Snapshot } from '../../format/snapshot.ts';
import type { Tables } from '../../versions/tables.ts';
import type { Committed } from '../../versions/lines/version-commits.ts';
import { versionJudge } from '../../rules/version-judge.ts';
import { commitSummary } from '../../once/commit-summary.ts';
import { requireEngineTable } from '../call/table-parts.ts';
import { DataType } from 'apache-arrow';
import { CatalogError } from '../../../protocol/errors.ts';
import { predicateFormula, rowsWhere } from '../../request/formula.ts';
import type { FieldPlace } from '../../format/field-place.ts';
import type { MaybePromise } from '../../../protocol/maybe-promise.ts';

/** Parts of the operations that change a table's columns. */
export interface SchemaParts {
  readonly catalog: Catalog;
  readonly tables: Tables;
  readonly reader: FragmentReader;
}

/** The newest version of a table with its reader and a writer of columns. */
export interface ChangeBase {
  readonly base: Manifest;
  readonly snapshot: Snapshot;
  readonly reader: FragmentReader;
  readonly writer: ColumnWriter;
}

/**
 * Computes the next version of a table from the newest; runs again if another writer commits first.
 */
type SchemaChange = (on: ChangeBase) => MaybePromise<Contents>;

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
  const { storage } = tables;
  const folder = tables.folder(table.content);
  const writer = new ColumnWriter(storage, reader, folder);
  const tableId = table.content.id;
  try {
    const committed = await tables.commit({
      table,
      chain,
      current: () => catalog.requireTable(object),
      change: async (base) => {
        const snapshot = { tableId, storage, folder, rows: liveRowTotal(base), ...base };
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

/** The answer of a schema operation with its version. */
export function versionAnswer(
  call: Call,
  kind: string,
  committed: Committed,
  more: object = {},
): Answer {
  const answer = { version: committed.manifest.version, ...more };
  return jsonAnswer(call, answer, { commit: commitSummary(kind, committed) });
}

/**
 * Refuses to make a field non-nullable that has nulls. Fields of null structs are not considered.
 * @throws CatalogError TableSchemaValidationError with their number.
 */
export async function refuseNulls(
  { snapshot, reader }: ChangeBase,
  place: FieldPlace,
): Promise<void> {
  const [column] = place.fields;
  if (place.fields.slice(0, -1).some((field) => !DataType.isStruct(field.type))) {
    throw new CatalogError(
      'Unsupported',
      `${JSON.stringify(place.text)} lies in a list or map, where nulls are always allowed`,
    );
  }
  const predicate = predicateFormula(place.text, nullTest(place), snapshot.schema.fields);
  let nulls = 0;
  for (const fragment of snapshot.fragments) {
    for await (const { batch } of reader.batches(snapshot, fragment, [column.name])) {
      nulls += rowsWhere(predicate, batch).length;
    }
  }
  if (nulls === 0) return;
  throw new CatalogError(
    'TableSchemaValidationError',
    `the column ${JSON.stringify(place.text)} has ${nulls} ${nulls === 1 ? 'null' : 'nulls'}, so it must stay nullable`,
  );
}

function nullTest({ fields }: FieldPlace): string {
  const names = fields.map(({ name }) => `\`${name.replaceAll('`', '``')}\``);
  const itself = `${names.join('.')} IS NULL`;
  return names.length === 1 ? itself : `${itself} AND ${names.slice(0, -1).join('.')} IS NOT NULL`;
}
