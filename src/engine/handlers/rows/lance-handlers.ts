import type { Answer } from '../../../protocol/backend.ts';
import type { OperationName } from '../../../protocol/operations/operation-name.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { textField } from '../../base/fields.ts';
import type { Stored, TableRecord } from '../../format/records.ts';
import type { Call, Handler, HandlerTable } from '../call/handler.ts';
import type { ManagedParts } from '../call/managed-parts.ts';
import { requireEngineTable } from '../call/table-parts.ts';
import { byQueryMode, propertiesField } from '../call/parameters.ts';
import { createLanceBranch } from './lance-branches.ts';
import { changeLanceTable, type ChangeOf } from './library-changes.ts';
import { columnChanges } from './lance-columns.ts';
import { mergeParameters } from './merge-parameters.ts';
import { timeoutOf } from './merge-insert-into-table.ts';
import { visibleChanges, type VisibleChangeParts } from './restricted-library-changes.ts';
import { insertModes } from './insert-modes.ts';
import { rowsFileOf } from './rows-file.ts';
import { deletePredicate, updatesField } from './update-table.ts';

/** The same handlers, of which those that make a version make those of Lance tables through the library. */
export function withLanceChanges(parts: VisibleChangeParts, handlers: HandlerTable): HandlerTable {
  const changing = Object.entries(changes).map(([name, changeOf]) => [
    name,
    async (call: Call, table: Stored<TableRecord>) => {
      const restrictions = call.permit.restrictionsOn(call.request.object);
      const visible = visibleChanges[name as OperationName];
      if (restrictions !== null && visible !== undefined) {
        return visible(parts, call, table, restrictions);
      }
      const change = await changeOf(call, parts);
      try {
        return await changeLanceTable(parts, call, table, change);
      } finally {
        await change.rows?.close();
      }
    },
  ]);
  return onLanceTables(parts, handlers, {
    ...Object.fromEntries(changing),
    CreateTableBranch: (call, table) => createLanceBranch(parts, call, table),
  });
}

/** The same handlers, of which those that the library is needed for refuse Lance tables with advice. */
export function withoutLibrary(
  { catalog, instead }: Pick<ManagedParts, 'catalog'> & { readonly instead: string },
  handlers: HandlerTable,
): HandlerTable {
  const refuse = async ({ request }: Call, { content }: Stored<TableRecord>): Promise<Answer> => {
    requireEngineTable(request.object, content, instead);
    throw new Error('the table is one of the engine');
  };
  const refused = [...Object.keys(changes), ...others].map((name) => [name, refuse]);
  return onLanceTables({ catalog }, handlers, Object.fromEntries(refused));
}

/** Operations that the library is needed for beside the changes. */
const others: readonly OperationName[] = [
  'CreateTableBranch',
  'CreateTableIndex',
  'CreateTableScalarIndex',
  'DescribeTableIndexStats',
  'ListTableIndices',
  'PrewarmTableIndex',
];

type LanceHandlers = Readonly<
  Partial<Record<OperationName, (call: Call, table: Stored<TableRecord>) => Promise<Answer>>>
>;

/** The same handlers, some of which have others for Lance tables. */
export function onLanceTables(
  { catalog }: Pick<ManagedParts, 'catalog'>,
  handlers: HandlerTable,
  others: LanceHandlers,
): HandlerTable {
  const both = Object.entries(others).map(([name, other]): [string, Handler] => [
    name,
    async (call) => {
      const table = await catalog.requireTable(call.request.object);
      if (table.content.kind === 'lance') return other(call, table);
      return handlers[name as OperationName]!(call);
    },
  ]);
  return { ...handlers, ...Object.fromEntries(both) };
}

/** Changes of the versions of Lance tables. */
const versionChanges: Readonly<Partial<Record<OperationName, ChangeOf>>> = {
  RestoreTable: ({ body: { version = null } }) => ({
    change: (at) => ({ kind: 'restore', version: Number(at) }),
    rows: null,
    from: { version },
  }),
  DropTableIndex: ({ request: { indexName = '' } }) => ({
    change: { kind: 'drop_index', name: indexName },
    rows: null,
  }),
};

const changes: Readonly<Partial<Record<OperationName, ChangeOf>>> = {
  ...columnChanges,
  ...versionChanges,
  InsertIntoTable: async (call, parts) => {
    const kind = byQueryMode(call, insertModes);
    const rows = await rowsFileOf(parts, call);
    return { change: { kind: kind.kind }, rows, body: () => ({ num_inserted_rows: rows.rows }) };
  },
  DeleteFromTable: async ({ body }) => ({
    change: { kind: 'delete', predicate: deletePredicate(body) },
    rows: null,
    body: ({ summary: { rowsRemoved } }, { numDeletedRows }) => ({
      num_deleted_rows: numDeletedRows ?? rowsRemoved,
    }),
  }),
  UpdateTable: async (call) => {
    if (Object.keys(propertiesField(call)).length > 0) {
      const why =
        'an update of a Lance table sets no properties: leave properties out of the request';
      throw new CatalogError('Unsupported', why);
    }
    const [updates, predicate] = [updatesField(call.body), textField(call.body, 'predicate')];
    return {
      change: { kind: 'update', predicate, updates },
      rows: null,
      body: ({ summary: { rowsChanged } }, { rowsUpdated }) => {
        const count = rowsUpdated ?? rowsChanged;
        return { rows_updated: count, updated_rows: count };
      },
    };
  },
  MergeInsertIntoTable: async (call, parts) => {
    const request = mergeParameters(call.request.query, timeoutOf(call));
    const { checkTime, ...merge } = request;
    const rows = await rowsFileOf(parts, call, true);
    return {
      change: { kind: 'merge', ...merge },
      rows,
      check: checkTime,
      body: ({ summary: { rowsAdded, rowsRemoved, rowsChanged } }, counts) => {
        const inserted = counts['numInsertedRows'] ?? rowsAdded;
        const updated = counts['numUpdatedRows'] ?? rowsChanged ?? 0n;
        return {
          num_updated_rows: updated,
          num_inserted_rows: inserted,
          num_deleted_rows: counts['numDeletedRows'] ?? rowsRemoved,
          num_attempts: counts['numAttempts'] ?? 1,
          num_rows: Number(updated) + Number(inserted),
        };
      },
    };
  },
};
