import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { CatalogError } from '../protocol/errors.ts';
import { RequestBody } from './body.ts';
import type { Networks } from './networks.ts';
import { sourceAddress } from './source-address.ts';
import type { Received } from './steps.ts';

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * Headers whose second value could be read by one reader and missed by another.
 * Control characters never come so far: Node's parser refuses them.
 */
const single = new Set([
  'authorization',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'transfer-encoding',
  'user-agent',
  'x-api-key',
  'x-request-id',
]);
const singlePrefixes = ['x-service-', 'x-lance-', 'x-arrowgate-'];

/** Gives a request its ids and where it comes from. Refuses nothing, so that even a refusal has them. */
export function receive(
  incoming: IncomingMessage,
  response: ServerResponse,
  waiting: boolean,
  trustedProxies: Networks,
): Received {
  const given = givenId(incoming);
  return {
    incoming,
    response,
    body: new RequestBody(incoming, response, waiting),
    requestId: given ?? randomUUID(),
    ...(given === undefined ? {} : { clientRequestId: given }),
    decisionId: randomUUID(),
    sourceIp: sourceAddress(incoming, trustedProxies),
    arrivedMicros: BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)),
    arrivedNanos: process.hrtime.bigint(),
    signal: goneSignal(response),
  };
}

/**
 * @throws CatalogError InvalidInput for headers that could be read in two ways
 * or are not understood, ServiceUnavailable when the gateway is stopping
 */
export function admit(received: Received, stopping: boolean): Received {
  if (stopping) throw new CatalogError('ServiceUnavailable', 'the gateway is stopping');
  const { incoming } = received;
  checkHeaders(incoming.rawHeaders);
  if (incoming.httpVersion === '1.1' && incoming.headers.host === undefined) {
    throw new CatalogError('InvalidInput', 'the Host header is missing');
  }
  checkOnly(incoming.headers.expect, 'expectation', '100-continue');
  checkOnly(incoming.headers['transfer-encoding'], 'transfer coding', 'chunked');
  checkOnly(incoming.headers['content-encoding'], 'content coding', 'identity');
  return received;
}

function checkOnly(value: string | undefined, what: string, known: string): void {
  if (value === undefined || value.toLowerCase() === known) return;
  throw new CatalogError('InvalidInput', `the only ${what} that is understood is ${known}`);
}

function checkHeaders(raw: readonly string[]): void {
  const seen = new Set<string>();
  for (let index = 0; index < raw.length; index += 2) {
    const name = (raw[index] ?? '').toLowerCase();
    if (isSingle(name) && seen.has(name)) {
      throw new CatalogError('InvalidInput', `the header ${name} is given more than once`);
    }
    seen.add(name);
  }
}

function isSingle(name: string): boolean {
  return single.has(name) || singlePrefixes.some((prefix) => name.startsWith(prefix));
}

function givenId(incoming: IncomingMessage): string | undefined {
  const given = incoming.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : undefined;
}

function goneSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) controller.abort();
  });
  return controller.signal;
}
