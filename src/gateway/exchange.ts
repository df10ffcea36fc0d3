import { receive } from './admit.ts';
import type { Gateway } from './gateway.ts';
import { cut, type Incoming, type Outgoing } from './message.ts';
import { handleDescribed, isAuthorize } from './forward-auth.ts';
import { isProtocol } from './own-paths.ts';
import { grown } from './passage.ts';
import { handle } from './pipeline.ts';
import { handlePlain } from './plain.ts';
import { pathOf } from './route.ts';
import type { Site } from './site.ts';
import type { Received } from './steps.ts';
import type { Traces } from './traces.ts';

export interface ExchangeOptions {
  /** Whether the client waits to be told to send its body. */
  readonly waiting: boolean;
  readonly site: Site;
}

/** One request and its answer. Never rejects: what nobody foresaw is logged and breaks the answer off. */
export function exchange(
  gateway: Gateway,
  incoming: Incoming,
  outgoing: Outgoing,
  { waiting, site }: ExchangeOptions,
): Promise<void> {
  const received = receive(incoming, outgoing, waiting, gateway.trustedProxies);
  const handled = handlerOf(pathOf(incoming.url ?? ''), site)(gateway, received);
  return handled.catch((error: unknown) => {
    gateway.log.error({ err: error, requestId: received.requestId }, 'an answer failed');
    cut(outgoing);
  });
}

type Handler = (gateway: Gateway, received: Received) => Promise<void>;

function handlerOf(path: string, site: Site): Handler {
  if (site === 'all' && isProtocol(path)) return followed;
  if (site === 'all' && isAuthorize(path)) return handleDescribed;
  return (gateway, received) => handlePlain(gateway, received, site);
}

/** A request to the protocol, with its trace where one is kept. */
function followed(gateway: Gateway, received: Received): Promise<void> {
  return gateway.traces === undefined
    ? handle(gateway, received)
    : traced(gateway, gateway.traces, received);
}

async function traced(gateway: Gateway, traces: Traces, received: Received): Promise<void> {
  const trace = traces.begin(received.incoming, received);
  try {
    await handle(gateway, grown(received, { trace }));
  } finally {
    trace.end();
  }
}
