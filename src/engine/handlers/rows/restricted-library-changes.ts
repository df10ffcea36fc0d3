import { restrictionReasons } from '../../../protocol/restriction-reasons.ts';
import { DataType, Field, Schema, Vector, type Data } from 'apache-arrow';
import { batchOfData } from '../../../arrow/data.ts';
import { projectColumns } from '../../../arrow/select.ts';
import { schemaOf } from '../../../arrow/nested-type.ts';
import { takeData } from '../../../arrow/take.ts';
import type { Answer } from '../../../protocol/backend.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../../../protocol/identifier.ts';
import type { OperationName } from '../../../protocol/operations/operation-name.ts';
import type { Restrictions } from '../../../protocol/restrictions.ts';
import { textField } from '../../base/fields.ts';
import { statementOf, type Statement } from '../../base/statement.ts';
import { assignedData, bindUpdates, type Assignment } from '../../change/assignment.ts';
import { RowFinder, type BatchRows } from '../../change/row-finder.ts';
import { requireJudged, updatedColumns } from '../../change/update-rows.ts';
import {
  requireOwnColumns,
  requireVisible,
  type ChangeRefusals,
} from '../../change/visible-change.ts';
import type { Incoming } from '../../format/incoming.ts';
import type { LanceManifest } from '../../format/lance/lance-manifest.ts';
import { arrowFields } from '../../format/lance/lance-schema.ts';
import type { Stored, TableRecord } from '../../format/records.ts';
import { countOf, rowAt } from '../../query/scan/rows.ts';
import { Scanner } from '../../query/scan/scan.ts';
import { needOf, rowFieldsOf } from '../../request/computed-columns.ts';
import { predicateFormula } from '../../request/formula.ts';
import type { Call } from '../call/handler.ts';
import { byQueryMode, propertiesField } from '../call/parameters.ts';
import { boundTo } from '../call/restricted-reads.ts';
import { notApplied } from '../call/restricted-calls.ts';
import { insertModes } from './insert-modes.ts';
import { changeLanceTable, type LibraryChanges, type TableChange } from './library-changes.ts';
import { libraryTable, type ReadableVersion } from './library-reads.ts';
import { changeRefusals, visibleIncoming } from './restricted-changes.ts';
import { rowsFileOf, type RowsParts } from './rows-file.ts';
import { deletePredicate, updatesField } from './update-table.ts';
import type { TableReads } from './table-reads.ts';
import { visibleLibraryTable, type VisibleLibraryTable } from './visible-library-rows.ts';

/** Parts of changes of Lance tables by any caller. */
export type VisibleChangeParts = LibraryChanges & RowsParts & Pick<TableReads, 'maskSecret'>;

/** A change of a Lance table by a caller whom restrictions bind. */
type VisibleLibraryChange = (
  parts: VisibleChangeParts,
  call: Call,
  table: Stored<TableRecord>,
  restrictions: Restrictions,
) => Promise<Answer>;

/** Rows that one change may update or delete: their ids are a list in the predicate that the library gets. */
const MOST_ROWS = 50_000;
/** How often a change is computed again because another writer was first. */
const MAX_ATTEMPTS = 10;

/**
 * Changes of Lance tables by callers whom restrictions bind. The rows are found here, among those that the
 * caller sees; the library gets their ids, and values that are the same for all of them.
 */
export const visibleChanges: Readonly<Partial<Record<OperationName, VisibleLibraryChange>>> = {
  InsertIntoTable: insertVisible,
  DeleteFromTable: (parts, call, table, restrictions) => {
    const refusals = changeRefusals(call, restrictions, 'delete');
    const predicate = deletePredicate(call.body);
    return ofNewest(parts, call, table, restrictions, async (visible) => {
      const { ids } = await matching(visible, predicate, statementOf(call), refusals);
      return {
        change: { kind: 'delete', predicate: predicateOf(ids) },
        rows: null,
        body: () => ({ num_deleted_rows: ids.length }),
      };
    });
  },
  MergeInsertIntoTable: (_, { request, permit }, __, restrictions) => {
    const why = restrictionReasons.lanceMerge();
    throw notApplied(request, permit, restrictions, why);
  },
  UpdateTable: (parts, call, table, restrictions) => {
    const refusals = changeRefusals(call, restrictions, 'update');
    if (Object.keys(propertiesField(call)).length > 0) {
      throw refusals.refusal(restrictionReasons.properties());
    }
    const updates = updatesField(call.body);
    const predicate = textField(call.body, 'predicate');
    const statement = statementOf(call);
    return ofNewest(parts, call, table, restrictions, async (visible, { columns }) => {
      const schema = plainSchema(columns.schema);
      const { bound, rows } = visible;
      requireOwnColumns(updatedColumns(updates, schema), bound, refusals);
      const assignments = bindUpdates(updates, rows.snapshot.schema, statement);
      const names = assignments.map(({ field }) => field.name);
      const judges = requireJudged(schema, names, bound, refusals);
      const values = await Promise.all(assignments.map((each) => constantOf(each, refusals)));
      const { ids, found } = await matching(visible, predicate, statement, refusals);
      if (judges) await requireStillVisible(visible, found, values, refusals);
      return {
        change: {
          kind: 'update',
          predicate: predicateOf(ids),
          updates: values.map(({ name, sql }): readonly [string, string] => [name, sql]),
        },
        rows: null,
        body: () => ({ rows_updated: ids.length, updated_rows: ids.length }),
      };
    });
  },
};

/** Adds rows, all of which the caller may see. */
async function insertVisible(
  parts: VisibleChangeParts,
  call: Call,
  table: Stored<TableRecord>,
  restrictions: Restrictions,
): Promise<Answer> {
  const refusals = changeRefusals(call, restrictions, 'insert');
  if (byQueryMode(call, insertModes).kind !== 'append') {
    throw refusals.refusal(restrictionReasons.overwrite());
  }
  const { object } = call.request;
  const { columns } = await libraryTable(parts, call, table, {});
  const schema = plainSchema(columns.schema);
  const checked = (incoming: Incoming): Incoming => {
    const { batches } = visibleIncoming(call, incoming, schema, refusals);
    return sentColumns(batches, incoming.schema);
  };
  const rows = await rowsFileOf(parts, call, false, checked);
  try {
    return await changeLanceTable(parts, call, table, {
      change: { kind: 'append' },
      rows,
      isVisible: true,
      requireManifest: (manifest) => requireColumns(manifest, schema, object),
      body: () => ({ num_inserted_rows: rows.rows }),
    });
  } finally {
    await rows.close();
  }
}

/** The rows with the columns that were sent: the library adds the others, which are null. */
function sentColumns(batches: Incoming['batches'], { fields, metadata }: Schema): Incoming {
  const names = fields.map(({ name }) => name);
  const judged = async function* () {
    for await (const batch of batches) yield projectColumns(batch, names);
  };
  return { schema: schemaOf(fields, metadata), batches: judged() };
}

/** Columns without metadata, which means nothing to the library. */
function plainSchema({ fields }: Schema): Schema {
  return new Schema(fields.map(({ name, type, nullable }) => new Field(name, type, nullable)));
}

/** Rows were judged by the columns that the table had. */
function requireColumns({ fields }: LanceManifest, schema: Schema, table: ObjectPath): void {
  const now = plainSchema(new Schema([...arrowFields(fields)]));
  if (String(now) === String(schema)) return;
  throw new CatalogError(
    'ConcurrentModification',
    `the columns of table ${canonicalPath(table)} were changed meanwhile: repeat the request`,
  );
}

/** The version that was read is not the newest one any more. */
class Overtaken extends CatalogError {
  constructor(table: ObjectPath) {
    const name = canonicalPath(table);
    super(
      'ConcurrentModification',
      `table ${name} was changed while rows of it were found: repeat the request`,
    );
  }
}

/** Makes a change from the newest version, and again if another writer was first. */
async function ofNewest(
  parts: VisibleChangeParts,
  call: Call,
  table: Stored<TableRecord>,
  restrictions: Restrictions,
  changeOf: (visible: VisibleLibraryTable, place: ReadableVersion) => Promise<TableChange>,
): Promise<Answer> {
  const { library } = parts;
  const { object } = call.request;
  for (let attempts = 1; ; attempts++) {
    const place = await libraryTable(parts, call, table, {});
    const bound = await boundTo(place.columns.schema, parts, call, restrictions);
    const visible = await visibleLibraryTable({ library, place, bound });
    try {
      const change = await changeOf(visible, place);
      const check = (version: bigint): void => {
        // Ids of rows are those of the version that was read.
        if (version !== place.at.version + 1n) throw new Overtaken(object);
      };
      return await changeLanceTable(parts, call, table, { ...change, check, isVisible: true });
    } catch (error) {
      if (!(error instanceof Overtaken) || attempts === MAX_ATTEMPTS) throw error;
    } finally {
      await visible.rows.close();
    }
  }
}

interface MatchingRows {
  readonly ids: readonly bigint[];
  readonly found: readonly BatchRows[];
}

/** Visible rows that pass a predicate, or all of them. */
async function matching(
  { rows, batches }: VisibleLibraryTable,
  predicate: string | null,
  statement: Statement,
  { refusal }: ChangeRefusals,
): Promise<MatchingRows> {
  const { snapshot } = rows;
  const fields = rowFieldsOf(snapshot.schema);
  const formula =
    predicate === null ? null : predicateFormula('predicate', predicate, fields, statement);
  const all = await new RowFinder(rows).find(snapshot, formula);
  const found = all.flatMap((each) => each.found);
  const count = found.reduce((sum, each) => sum + countOf(each.rows), 0);
  if (count > MOST_ROWS) {
    throw refusal(restrictionReasons.lanceRows(count, MOST_ROWS));
  }
  const ids = found.flatMap((each) => {
    const row = rowAt(each.rows);
    const known = batches[each.place.index]!;
    return Array.from({ length: countOf(each.rows) }, (_, at) => known[row(at)]!);
  });
  return { ids, found };
}

function predicateOf(ids: readonly bigint[]): string {
  return ids.length === 0 ? 'false' : `_rowid IN (${ids.join(', ')})`;
}

/** A value that a column gets in all rows of an update. */
interface ConstantValue {
  readonly name: string;
  readonly data: Data;
  readonly sql: string;
}

async function constantOf(
  assignment: Assignment,
  { refusal }: ChangeRefusals,
): Promise<ConstantValue> {
  const { field, formula } = assignment;
  const column = JSON.stringify(field.name);
  if (formula.columns.length > 0) {
    throw refusal(restrictionReasons.lanceValueOfRow(column));
  }
  const data = await assignedData(assignment, batchOfData(new Schema([]), [], 1));
  const sql = literalOf(field.type, new Vector([data]).get(0));
  if (sql !== undefined) return { name: field.name, data, sql };
  throw refusal(restrictionReasons.lanceValueType(column));
}

/** The literal of a value in SQL, which the library reads as the engine does; undefined for values of other types. */
function literalOf(type: DataType, value: unknown): string | undefined {
  if (value === null) return 'NULL';
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`;
  if (typeof value === 'boolean') return String(value);
  // Moments and durations are numbers here as well.
  if (!DataType.isInt(type) && !DataType.isFloat(type)) return undefined;
  if (typeof value === 'bigint') return String(value);
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : undefined;
}

/** Requires that the caller still sees rows that get new values. */
async function requireStillVisible(
  { bound, rows }: VisibleLibraryTable,
  found: readonly BatchRows[],
  values: readonly ConstantValue[],
  refusals: ChangeRefusals,
): Promise<void> {
  const { snapshot } = rows;
  const names = bound.filter?.columns ?? [];
  const fresh = new Map(values.map(({ name, data }) => [name, data]));
  const scanner = new Scanner(rows, snapshot);
  const kept = needOf(
    snapshot.schema,
    names.filter((name) => !fresh.has(name)),
  );
  for (const { place, rows: some } of found) {
    const { data, numRows, schema } = await scanner.read(place, kept, some);
    const same = new Uint32Array(numRows);
    const columns = names.map((name) => {
      const value = fresh.get(name);
      const at = schema.fields.findIndex((field) => field.name === name);
      return value === undefined ? data.children[at]! : takeData(value, same);
    });
    const fields = names.map((name) => snapshot.schema.fields.find((each) => each.name === name)!);
    await requireVisible(batchOfData(new Schema(fields), columns, numRows), bound, refusals);
  }
}
