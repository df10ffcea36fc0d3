import type { Storage } from '../../../storage/storage.ts';
import type { Stored, TableRecord } from '../../format/records.ts';
import type { Call } from './handler.ts';
import type { AdoptionCause } from '../../versions/managed/adoption.ts';
import { branchRefs } from '../../versions/managed/lance-refs.ts';
import { locationOf } from '../../versions/managed/managed-versions.ts';
import type { AdoptFirst } from '../../versions/managed/staged-manifest.ts';
import { MAIN } from '../../format/chain.ts';
import type { MaybePromise } from '../../../protocol/maybe-promise.ts';

/**
 * The table of a read, after adoption of a line's external versions.
 * @param branch The line of the read.
 */
export function adoptedTable(
  call: Call,
  stored: Stored<TableRecord>,
  branch: string,
): MaybePromise<Stored<TableRecord>> {
  const { adoption } = call;
  if (adoption === undefined || stored.content.kind === 'engine') return stored;
  return adoption.beforeRead(call.request.object, stored, branch, causeOf(call));
}

/** The table of a listing of branches, after adoption of all external versions. */
export async function adoptedBranches(
  storage: Storage,
  call: Call,
  stored: Stored<TableRecord>,
): Promise<Stored<TableRecord>> {
  const table = await adoptedTable(call, stored, MAIN);
  if (table.content.kind !== 'lance' || call.adoption === undefined) return table;
  for (const name of (await branchRefs(storage, locationOf(table.content))).keys()) {
    await adoptedTable(call, table, name);
  }
  return table;
}

/** Adopts external versions before a request commits further ones. */
export function adoptFirst(call: Call): AdoptFirst {
  return async (path, stored, branch) =>
    (await call.adoption?.beforeCommit(path, stored, branch, causeOf(call))) ?? stored;
}

function causeOf({ request, permit }: Call): AdoptionCause {
  const { operation, requestId } = request;
  return { operation: operation.name, requestId, decisionId: permit.decisionId };
}
