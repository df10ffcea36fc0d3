import { CatalogError } from '../protocol/errors.ts';
import type { Principal } from '../protocol/principal.ts';
import type { Gateway } from './gateway.ts';
import { SnapshotPermit } from './permit.ts';
import type { Received } from './steps.ts';
import { circumstancesOf } from './surroundings.ts';

/** Whether a request carries a credential with the right to manage everything. */
export async function mayManage(gateway: Gateway, received: Received): Promise<boolean> {
  try {
    return manages(gateway, received, await gateway.identification.principalOf(received));
  } catch (error) {
    if (error instanceof CatalogError) return false;
    throw error;
  }
}

/** @throws CatalogError Unauthenticated, as `Identification.principalOf` does; PermissionDenied */
export async function requireManage(gateway: Gateway, received: Received): Promise<void> {
  const principal = await gateway.identification.principalOf(received);
  if (manages(gateway, received, principal)) return;
  throw new CatalogError('PermissionDenied', `${principal.subject} may not manage the gateway`);
}

function manages(gateway: Gateway, received: Received, principal: Principal): boolean {
  const policy = gateway.policy.current();
  return new SnapshotPermit(
    policy,
    principal,
    received.decisionId,
    circumstancesOf(received),
  ).holds('manage', []);
}
