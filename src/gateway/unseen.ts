import type { Permit } from '../protocol/permit.ts';
import { CatalogError } from '../protocol/errors.ts';
import { guard, type Guarded, type GuardedRequest } from './backends/remote-guard.ts';
import type { Asking } from './needs.ts';

/** What is known of a catalog behind a proxy that the configuration does not list: nothing. */
const stranger: Guarded = {
  name: 'behind the proxy',
  prefix: [],
  trust: new Set(),
  checksBodies: false,
};

/** A request that a proxy describes, and will send to its catalog itself. */
export interface Described {
  readonly route: Asking;
  readonly permit: Permit;
  readonly method: string;
  readonly headers: GuardedRequest['headers'];
}

/**
 * Refuses what a remote backend would be refused, and answers that must be filtered: neither
 * the body nor the answer of a described request is seen. Every request but GET may have a body.
 * @param backend What is known of the catalog behind the proxy.
 * @throws CatalogError PermissionDenied
 */
export function refuseUnseen(described: Described, backend: Guarded = stranger): void {
  const { route, permit, method, headers } = described;
  const { operation } = route;
  if (operation.access === 'list') {
    throw denied(`the answer of ${operation.name} has to be filtered, and is not seen here`);
  }
  const { name, trust, checksBodies } = backend;
  try {
    // The proxy forwards names as they are, whatever the gateway would strip.
    guard({ ...route, method, headers, unmeasured: true }, permit, {
      name,
      trust,
      checksBodies,
      prefix: [],
    });
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    throw error.row.name === 'Unsupported' ? denied(error.message) : error;
  }
}

function denied(what: string): CatalogError {
  return new CatalogError('PermissionDenied', what);
}
