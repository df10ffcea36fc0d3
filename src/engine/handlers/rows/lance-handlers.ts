import type { OperationName } from '../../../protocol/operations/operation-name.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { RequestBudget } from '../../../protocol/budget.ts';
import { FileWriter } from '../../../arrow/ipc/file-writer.ts';
import { textField } from '../../base/fields.ts';
import {
  asRefusal,
  openIncoming,
  type Incoming,
  type IncomingLimits,
} from '../../format/incoming.ts';
import { noRows } from '../../query/plan/answer.ts';
import type { LanceLibrary } from '../../versions/managed/lance-library.ts';
import type { Call, Handler, HandlerTable } from '../call/handler.ts';
import type { ManagedParts } from '../call/managed-parts.ts';
import { byQueryMode, propertiesField } from '../call/parameters.ts';
import type { LanceAccess } from './library-reads.ts';
import { changeLanceTable, type RowChange } from './library-changes.ts';
import { mergeParameters } from './merge-parameters.ts';
import { timeoutOf } from './merge-insert-into-table.ts';
import { deletePredicate, updatesField } from './update-table.ts';

/** Parts of the row operations on Lance tables. */
export interface LanceRowParts extends ManagedParts, IncomingLimits {
  readonly lance?: LanceAccess | undefined;
}

/**
 * The same handlers, of which those that change rows change Lance tables through the library, where
 * there is one.
 */
export function withLanceChanges(parts: LanceRowParts, handlers: HandlerTable): HandlerTable {
  const library = parts.lance?.library;
  if (library === undefined) return handlers;
  const changing = Object.entries(changes).flatMap(([name, changeOf]) => {
    const handler = handlers[name as OperationName];
    return handler === undefined ? [] : [[name, onLance({ ...parts, library }, changeOf, handler)]];
  });
  return { ...handlers, ...Object.fromEntries(changing) };
}

/** The change that a request asks for. @throws CatalogError InvalidInput and others for its body. */
type ChangeOf = (parts: IncomingLimits, call: Call) => Promise<RowChange>;

function onLance(
  parts: LanceRowParts & { readonly library: LanceLibrary },
  changeOf: ChangeOf,
  handler: Handler,
): Handler {
  return async (call) => {
    const table = await parts.catalog.requireTable(call.request.object);
    if (table.content.kind !== 'lance') return handler(call);
    return changeLanceTable(parts, call, table, await changeOf(parts, call));
  };
}

const changes: Readonly<Partial<Record<OperationName, ChangeOf>>> = {
  InsertIntoTable: async (parts, call) => {
    const kind = byQueryMode(call, insertModes);
    const { rows, count } = await rowsFileOf(parts, call);
    return { change: { kind: kind.kind }, rows, body: () => ({ num_inserted_rows: count }) };
  },
  DeleteFromTable: async (_, { body }) => ({
    change: { kind: 'delete', predicate: deletePredicate(body) },
    rows: null,
    body: ({ rowsRemoved }, { numDeletedRows }) => ({
      num_deleted_rows: numDeletedRows ?? rowsRemoved,
    }),
  }),
  UpdateTable: async (_, call) => {
    if (Object.keys(propertiesField(call)).length > 0) {
      const why =
        'an update of a Lance table sets no properties: leave properties out of the request';
      throw new CatalogError('Unsupported', why);
    }
    const [updates, predicate] = [updatesField(call.body), textField(call.body, 'predicate')];
    return {
      change: { kind: 'update', predicate, updates },
      rows: null,
      body: ({ rowsChanged }, { rowsUpdated }) => {
        const count = rowsUpdated ?? rowsChanged;
        return { rows_updated: count, updated_rows: count };
      },
    };
  },
  MergeInsertIntoTable: async (parts, call) => {
    const request = mergeParameters(call.request.query, timeoutOf(call));
    const { checkTime, ...merge } = request;
    const { rows } = await rowsFileOf(parts, call);
    return {
      change: { kind: 'merge', ...merge },
      rows,
      check: checkTime,
      body: ({ rowsAdded, rowsRemoved, rowsChanged }, counts) => {
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

const insertModes = {
  append: { kind: 'append', classes: new Set() },
  overwrite: { kind: 'overwrite', classes: new Set(['modify']) },
} as const;

/** The rows of a request as one Arrow file, which the library takes whole; charged as held memory. */
export async function rowsFileOf(
  parts: IncomingLimits,
  { request }: Call,
): Promise<{ readonly rows: Uint8Array; readonly count: number }> {
  const incoming = await openIncoming(request, parts);
  try {
    const writer = new FileWriter(incoming.schema);
    const pieces = await written(writer, incoming, request.budget);
    return { rows: Buffer.concat([...pieces, writer.end()]), count: writer.rows };
  } catch (error) {
    throw asRefusal(error);
  }
}

async function written(
  writer: FileWriter,
  { schema, batches }: Incoming,
  budget: RequestBudget,
): Promise<readonly Uint8Array[]> {
  const pieces = [writer.begin()];
  for await (const batch of batches) {
    const before = writer.bytes;
    pieces.push(...writer.batch(batch));
    budget.charge(writer.bytes - before);
  }
  // The library takes no file without a batch.
  if (pieces.length === 1) pieces.push(...writer.batch(noRows(schema)));
  return pieces;
}
