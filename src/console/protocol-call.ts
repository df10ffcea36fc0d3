import { CatalogError } from '../protocol/errors.ts';
import { matchRoute, type OperationMatch } from '../protocol/route.ts';
import type { Received } from '../gateway/decision/steps.ts';
import { handleProtocol } from '../gateway/exchange.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { handleOwn } from '../gateway/own-request.ts';

/** Headers that the console sets itself. */
const CONTEXT = 'x-service-ctx-console';

/** The operation of the protocol that a target names, if it changes nothing; undefined for any other. */
export function readingCall(received: Received, target: string): OperationMatch | undefined {
  const { method = '', headers } = received.incoming;
  try {
    const match = matchRoute(method, target, headers['user-agent']);
    return match.kind === 'operation' && !match.operation.mutates ? match : undefined;
  } catch (error) {
    if (error instanceof CatalogError) return undefined;
    throw error;
  }
}

/**
 * Answers a request of a browser as the request to the protocol that it is for: decided for the caller of the
 * session and recorded, with `console` in its context.
 * @param identify Puts the credential of the session into the headers. @throws CatalogError
 */
export async function handleCall(
  gateway: Gateway,
  received: Received,
  call: { readonly target: string; readonly match: OperationMatch },
  identify: () => Promise<void>,
): Promise<void> {
  const { incoming } = received;
  const context = new Map([['console', 'catalog']]);
  const refused = await identify().catch((error: unknown) => {
    if (error instanceof CatalogError) return error;
    throw error;
  });
  if (refused === undefined) {
    incoming.url = call.target;
    for (const name of Object.keys(incoming.headers)) {
      if (/^x-(service|lance)-ctx-/.test(name)) delete incoming.headers[name];
    }
    incoming.headers[CONTEXT] = 'catalog';
    return handleProtocol(gateway, received);
  }
  const { operation, object } = call.match;
  const refuse = (): never => {
    throw refused;
  };
  return handleOwn(gateway, received, {
    operation: operation.name,
    object,
    context,
    prepare: refuse,
    answer: refuse,
  });
}
