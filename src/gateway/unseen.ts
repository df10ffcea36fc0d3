import { mayNameBranch } from '../protocol/branch.ts';
import { namesObject } from '../protocol/operations.ts';
import { CatalogError } from '../protocol/errors.ts';
import type { Asking } from './needs.ts';
import type { SnapshotPermit } from './permit.ts';

interface Unseen {
  readonly route: Asking;
  readonly permit: Pick<SnapshotPermit, 'holdsOnBranches'>;
}

/**
 * Refuses what cannot be decided without the body of a request, or without a hand on
 * its answer, where neither is seen.
 * @throws CatalogError PermissionDenied
 */
export function refuseUnseen({ route, permit }: Unseen): void {
  const { operation, object, target } = route;
  const { name } = operation;
  if (operation.access === 'list') throw unseen(`the answer of ${name} has to be filtered`);
  const named = target !== undefined || operation.objectsInBody === undefined;
  if (!named || (operation.object !== 'none' && !namesObject(operation))) {
    throw unseen(`the body of ${name} names the objects that it is about`);
  }
  if (mayNameBranch(operation) && !permit.holdsOnBranches(name, object)) {
    throw unseen(`the body of ${name} may name any branch, which is not allowed on each`);
  }
  if (operation.modeIn !== 'body') return;
  if (operation.mutates) throw unseen(`the body of ${name} says what else it does`);
  // Such a body can ask for credentials: they come with the right to read.
  if (!permit.holdsOnBranches('read', object)) {
    throw unseen(`the body of ${name} may ask for credentials, which needs the right to read`);
  }
}

function unseen(what: string): CatalogError {
  return new CatalogError('PermissionDenied', `${what}, and is not seen here`);
}
