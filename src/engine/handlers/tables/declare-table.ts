import { wireLocation } from '../../../storage/object-key.ts';
import { randomUUID } from 'node:crypto';
import type { Answer } from '../../../protocol/backend.ts';
import { jsonAnswer } from '../call/answers.ts';
import { tookNoEffect } from '../../catalog/records/commit-loop.ts';
import type { TableRecord } from '../../format/records.ts';
import { tableAlreadyExists } from '../../catalog/records/refusals.ts';
import type { Call, Handler } from '../call/handler.ts';
import { propertiesField } from '../call/parameters.ts';
import {
  demandsCredentials,
  tableCredentials,
  type TableCredentials,
} from '../call/table-credentials.ts';
import { textField } from '../../base/fields.ts';
import {
  makeLocation,
  managedFolder,
  requireFree,
  reserveLocation,
  resolveLocation,
} from '../../versions/lines/locations.ts';
import { judgePlacing } from '../../rules/place-judge.ts';
import { placeSummary } from '../../once/commit-summary.ts';
import { withExternalWrites } from '../../versions/managed/external-versions.ts';
import type { ManagedParts } from '../call/managed-parts.ts';

/** Parts of the operations that give a table a name and a location. */
export type PlaceParts = Pick<ManagedParts, 'catalog' | 'store' | 'locations' | 'vending'>;

/**
 * DeclareTable: a name and an empty folder, into which a Lance client then
 * writes; its commits go through the catalog. Local files need no credentials, and
 * those of an object store are never in the answer that is stored for repeats.
 */
export function declareTable(parts: PlaceParts): Handler {
  return async (call) => {
    const { object } = call.request;
    if (demandsCredentials(call)) {
      call.permit.require('CreateTableVersion', object);
    }
    const properties = await withExternalWrites(parts.catalog, object, propertiesField(call));
    if ((await parts.catalog.tablePlace(object)) !== undefined) throw tableAlreadyExists(object);
    const chosen = textField(call.body, 'location');
    const id = randomUUID();
    const location = await declaredLocation(parts, id, chosen);
    const record = { id, kind: 'declared', properties, createdMillis: Date.now() } as const;
    const table = { ...parts.catalog.local.claimed({ ...record, location }), location };
    await judgePlacing(call.rules, object, location);
    const credentials = await tableCredentials(call, table, parts.vending);
    await makeLocation(location, parts.locations);
    try {
      await commit(parts, call, table, declared(call, table));
    } catch (error) {
      // A folder that the client chose may belong to another table by now.
      if (chosen === null && tookNoEffect(error)) {
        await parts.locations.storage.folders?.removeIfEmpty(location);
      }
      throw error;
    }
    return declared(call, table, credentials);
  };
}

/** Location of a table to declare: its own, or the requested one. */
export async function declaredLocation(
  parts: PlaceParts,
  id: string,
  chosen: string | null,
): Promise<string> {
  if (chosen === null) return managedFolder(parts.locations, id);
  const folder = await resolveLocation(chosen, parts.locations);
  await requireFree(parts.store, folder);
  return folder;
}

type Placed = TableRecord & { readonly location: string };

async function commit(
  { catalog }: PlaceParts,
  call: Call,
  table: Placed,
  answer: Answer,
): Promise<void> {
  const { checks, writes } = reserveLocation(table.location, table.id);
  const { object } = call.request;
  const seal = call.once.seal(() => answer);
  await catalog.createTableCommit(object, table, checks, writes, undefined, seal);
}

function declared(
  call: Call,
  { id, location, properties }: Placed,
  credentials?: TableCredentials,
): Answer {
  const answer = { ...declaredEntry(location, properties), ...credentials?.answer };
  return jsonAnswer(call, answer, { commit: placeSummary('declare', id), ...credentials?.notes });
}

/** Members of the answer for a declared table. */
export function declaredEntry(location: string, properties: TableRecord['properties']): object {
  return { location: wireLocation(location), properties, managed_versioning: true };
}
