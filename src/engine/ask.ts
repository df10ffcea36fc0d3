import type { Call } from './handler.ts';

/**
 * Asks for the further rights of a mode that only the body names, as the
 * operation table lists them.
 * @throws CatalogError PermissionDenied.
 */
export function askForMode(call: Call, mode: string): void {
  const { operation, object } = call.request;
  for (const action of operation.modes?.[mode]?.actions ?? []) call.permit.require(action, object);
}
