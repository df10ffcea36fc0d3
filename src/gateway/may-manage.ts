import { CatalogError } from '../protocol/errors.ts';
import type { Principal } from '../protocol/principal.ts';
import type { Gateway } from './gateway.ts';
import { principalOf } from './identify.ts';
import { SnapshotPermit } from './permit.ts';
import type { Received } from './steps.ts';

/** Whether a request carries a credential with the right to manage everything. */
export function mayManage(gateway: Gateway, received: Received): boolean {
  const principal = identified(gateway, received);
  return principal !== undefined && manages(gateway, received, principal);
}

/** @throws CatalogError Unauthenticated; PermissionDenied */
export function requireManage(gateway: Gateway, received: Received): void {
  const principal = principalOf(received.incoming.headers, gateway.keys);
  if (manages(gateway, received, principal)) return;
  throw new CatalogError('PermissionDenied', `${principal.subject} may not manage the gateway`);
}

function manages(gateway: Gateway, received: Received, principal: Principal): boolean {
  const policy = gateway.policy.current();
  return new SnapshotPermit(policy, principal, received.decisionId).holds('manage', []);
}

function identified(gateway: Gateway, received: Received): Principal | undefined {
  try {
    return principalOf(received.incoming.headers, gateway.keys);
  } catch (error) {
    if (error instanceof CatalogError) return undefined;
    throw error;
  }
}
