import type { Answer } from '../../../protocol/backend.ts';
import { CatalogError, type ErrorName } from '../../../protocol/errors.ts';
import type { Stored, TableRecord } from '../../format/records.ts';
import { MAIN } from '../../format/chain.ts';
import { formatOfNew, type FormatOf } from '../../versions/table-format.ts';
import { adoptedTable } from '../call/adopted-table.ts';
import type { Call, Handler, HandlerTable } from '../call/handler.ts';
import { byQueryMode } from '../call/parameters.ts';
import { libraryOf, type CreationParts } from './lance-creation.ts';
import { changeLanceTable, type LibraryChanges } from './library-changes.ts';
import { insertModes } from './insert-modes.ts';
import { rowsFileOf, type RowsFile } from './rows-file.ts';

/** Parts of the first insert into a declared table. */
type FirstInsertParts = CreationParts & {
  /** The configured format of a new table. */
  readonly formatOf: FormatOf;
};

/**
 * The same handlers, of which InsertIntoTable makes a declared table a Lance table, where that is the
 * format of a new table of its path.
 */
export function withFirstInsert(parts: FirstInsertParts, handlers: HandlerTable): HandlerTable {
  const insert = handlers.InsertIntoTable!;
  const first: Handler = async (call) => {
    const { object } = call.request;
    const table = await parts.catalog.requireTable(object);
    if (table.content.kind !== 'declared') return insert(call);
    const format = await formatOfNew(parts.catalog, object, parts.formatOf);
    return format === 'lance' ? firstInsert(parts, call, table) : insert(call);
  };
  return { ...handlers, InsertIntoTable: first };
}

async function firstInsert(
  parts: FirstInsertParts,
  call: Call,
  declared: Stored<TableRecord>,
): Promise<Answer> {
  const library = libraryOf(parts, call);
  const { kind } = byQueryMode(call, insertModes);
  const rows = await rowsFileOf(parts, call);
  const insert = { parts: { ...parts, library }, call, rows };
  try {
    const table = await adoptedTable(call, declared, MAIN);
    if (table.content.kind !== 'declared') return await inserted(insert, table, kind);
    return await createdOrInserted(insert, table, kind);
  } finally {
    await rows.close();
  }
}

interface Insert {
  readonly parts: LibraryChanges;
  readonly call: Call;
  readonly rows: RowsFile;
}

/** Errors of a creation without effect when the table is there, by the catalog and by the library. */
const overtaken: ReadonlySet<ErrorName> = new Set([
  'ConcurrentModification',
  'InvalidInput',
  'TableAlreadyExists',
]);

/** The rows are inserted into the first version if another writer makes that meanwhile. */
async function createdOrInserted(
  insert: Insert,
  table: Stored<TableRecord>,
  kind: 'append' | 'overwrite',
): Promise<Answer> {
  try {
    return await inserted(insert, table, 'create');
  } catch (error) {
    if (!(error instanceof CatalogError) || !overtaken.has(error.row.name)) throw error;
    const { parts, call } = insert;
    const now = await parts.catalog.requireTable(call.request.object);
    if (now.content.kind !== 'lance') throw error;
    return inserted(insert, now, kind);
  }
}

function inserted(
  { parts, call, rows }: Insert,
  table: Stored<TableRecord>,
  kind: 'create' | 'append' | 'overwrite',
): Promise<Answer> {
  const body = (): object => ({ num_inserted_rows: rows.rows });
  return changeLanceTable(parts, call, table, { change: { kind }, rows, body });
}
