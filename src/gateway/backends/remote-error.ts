import { CatalogError, errorTable, TryAgain, type ErrorName } from '../../protocol/errors.ts';
import { isJsonObject, parseJson } from '../../protocol/json.ts';
import type { ObjectKind, Operation } from '../../protocol/operations/operation.ts';

/** A remote backend that cannot answer. */
export class BackendUnavailable extends TryAgain {}

/**
 * Why an exchange with a backend failed. `unreached`: no connection, so nothing was
 * sent. `busy`: all its connections are in use. `stale`: a connection that was used before turned out to be closed.
 * `silent`: nothing came for too long. `broken`: it broke off. `client`: the
 * client disconnected.
 */
type FaultKind = 'unreached' | 'busy' | 'stale' | 'silent' | 'broken' | 'client';

/** An exchange that failed. Its message continues after the backend's name. */
export class ExchangeFault extends Error {
  readonly kind: FaultKind;

  constructor(kind: FaultKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ExchangeFault';
    this.kind = kind;
  }
}

/** The code of a text that is an error of the protocol; undefined for any other text. */
export function protocolCode(text: string): number | undefined {
  const code = memberOf(text, 'code');
  return errorTable.find((row) => row.code === code)?.code;
}

function memberOf(text: string, name: string): unknown {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    const value = parseJson(text);
    return isJsonObject(value) ? value[name] : undefined;
  } catch (error) {
    if (error instanceof CatalogError) return undefined;
    throw error;
  }
}

const missing: Readonly<Record<ObjectKind, ErrorName>> = {
  namespace: 'NamespaceNotFound',
  table: 'TableNotFound',
  root: 'NamespaceNotFound',
  transaction: 'TransactionNotFound',
  none: 'Unsupported',
};

const names: Readonly<Record<number, ErrorName>> = {
  403: 'PermissionDenied',
  405: 'Unsupported',
  406: 'Unsupported',
  408: 'ServiceUnavailable',
  409: 'InvalidTableState',
  412: 'ConcurrentModification',
  429: 'Throttling',
  501: 'Unsupported',
  502: 'ServiceUnavailable',
  503: 'ServiceUnavailable',
  504: 'ServiceUnavailable',
};

/** Translates a refusal that does not follow the protocol's error format. */
export function remoteError(
  backend: string,
  operation: Operation,
  status: number,
  retryAfter: string | undefined,
): CatalogError {
  const name = nameOf(operation, status);
  const message = `the backend ${backend} answered ${status}, without an error of the protocol`;
  return name === 'ServiceUnavailable' || name === 'Throttling'
    ? new BackendUnavailable(message, retryAfter, name)
    : new CatalogError(name, message);
}

function nameOf(operation: Operation, status: number): ErrorName {
  if (status === 404) return missing[operation.object];
  return names[status] ?? (status < 500 ? 'InvalidInput' : 'Internal');
}
