import { CatalogError } from '../protocol/errors.ts';
import { RequestBody } from './body.ts';
import { checkFraming } from './framing.ts';
import { isGone, isHttp2, isWhole, type Incoming, type Outgoing } from './message.ts';
import type { Networks } from './networks.ts';
import { Passage } from './passage.ts';
import { newId } from './request-id.ts';
import { sourceAddress } from './source-address.ts';
import type { Received } from './steps.ts';

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Gives a request its ids and where it comes from. Refuses nothing, so that even a refusal has them. */
export function receive(
  incoming: Incoming,
  response: Outgoing,
  waiting: boolean,
  trustedProxies: Networks,
): Received {
  const given = givenId(incoming);
  const arrivedMillis = performance.now();
  return new Passage({
    incoming,
    response,
    body: new RequestBody(incoming, response, waiting),
    requestId: given ?? newId(),
    clientRequestId: given,
    decisionId: newId(),
    sourceIp: sourceAddress(incoming, trustedProxies),
    arrivedMicros: Math.round((performance.timeOrigin + arrivedMillis) * 1000),
    arrivedMillis,
    signal: goneSignal(response),
  });
}

/**
 * @throws CatalogError InvalidInput for a head that could be read in two ways
 * or is not understood, ServiceUnavailable when the gateway is stopping
 */
export function admit(received: Received, stopping: boolean): Received {
  if (stopping) throw new CatalogError('ServiceUnavailable', 'the gateway is stopping');
  try {
    checkFraming(received.incoming);
  } catch (error) {
    distrust(received.response);
    throw error;
  }
  return received;
}

/** Where the next request of a connection begins is doubtful, so it is closed after the answer. */
function distrust(response: Outgoing): void {
  if (!isHttp2(response)) response.shouldKeepAlive = false;
}

function givenId(incoming: Incoming): string | undefined {
  const given = incoming.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : undefined;
}

/** Most requests are over before anybody asks, and a signal is dear to make. */
function goneSignal(response: Outgoing): () => AbortSignal {
  let controller: AbortController | undefined;
  return () => (controller ??= abortedWithout(response)).signal;
}

function abortedWithout(response: Outgoing): AbortController {
  const controller = new AbortController();
  const end = (): void => {
    if (!isWhole(response)) controller.abort();
  };
  if (isGone(response)) end();
  else response.once('close', end);
  return controller;
}
