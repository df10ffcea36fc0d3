import { ServerResponse, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import type { Logger } from 'pino';
import type { Gateway } from '../gateway/gateway.ts';
import type { Received } from '../gateway/decision/steps.ts';
import { Metrics } from '../gateway/telemetry/metrics.ts';
import { isOwnPath } from '../gateway/own-paths.ts';
import { targetPath } from '../gateway/route.ts';
import { receive } from '../gateway/admit.ts';
import { exchange } from '../gateway/exchange.ts';
import {
  decideDescribed,
  type AccessDecision,
  type DescribedRequest,
} from '../gateway/forward-auth.ts';
import type { IdentifyHost } from '../gateway/identity/host-identity.ts';
import { parseConfig } from './config/config.ts';
import type { Config } from './config/config-table.ts';
import type { GatewayConfig } from './config/gateway-config.ts';
import { openLog } from './config/log.ts';
import { Opened } from './service/opened.ts';
import { compose } from './service/serve.ts';
import { programVersion } from './output/version.ts';

/** Options of a gateway inside another program. */
export interface GatewayOptions {
  /**
   * The configuration as `arrowgate.yaml` has it. Neither that file nor the environment is
   * read; `listen` and `processes` mean nothing here.
   */
  readonly config?: GatewayConfig;
  /** A value that is an administrator key for this gateway. */
  readonly adminKey?: string;
  /** Log stream; standard error when absent. */
  readonly log?: Logger;
  /** Identifies callers whom this program has authenticated itself. */
  readonly identify?: IdentifyHost;
}

/** The `next` function of a framework, for requests that are not the gateway's. */
export type Next = (error?: Error) => void;

/** As much of a Fastify instance as the plugin needs. */
export interface FastifyHost {
  addHook(
    name: 'onRequest',
    hook: (
      request: { readonly raw: IncomingMessage },
      reply: { readonly raw: ServerResponse; hijack(): unknown },
      done: Next,
    ) => void,
  ): unknown;
}

/** A gateway inside another server. */
export interface EmbeddedGateway {
  /** Answers every request: for `http.createServer`. */
  readonly listener: (incoming: IncomingMessage, response: ServerResponse) => void;
  /** Middleware for Express: answers paths under `/v1`, `/authorize` and `/console`, and the service pages, and passes on all others. */
  readonly middleware: (incoming: IncomingMessage, response: ServerResponse, next: Next) => void;
  /** The same for Fastify: `await app.register(gateway.fastify)`. */
  readonly fastify: (instance: FastifyHost, options: object, done: Next) => void;
  /**
   * Decides whether the caller of a request may send a request of the protocol, without sending it: by the
   * credentials of `request` or by `identify`. As `/authorize` it needs to see neither the body nor the answer, so
   * what depends on one of them is not allowed. The decision is recorded as that of a request. Never rejects
   * for a refusal.
   */
  authorize(request: IncomingMessage, described: DescribedRequest): Promise<AccessDecision>;
  /** Finishes requests in flight, flushes the audit log and closes everything; new requests are refused meanwhile. */
  close(): Promise<void>;
}

/**
 * Opens a gateway, its catalog engine and all else that `arrowgate serve` would, and
 * leaves it to the caller to listen.
 * @throws ConfigError, PolicyError, KeyFileError or UsageError with the reason why it cannot start
 */
export async function createGateway(options: GatewayOptions = {}): Promise<EmbeddedGateway> {
  const config = configOf(options);
  const log = options.log ?? openLog(config);
  const output = {
    watched: false,
    line: () => undefined,
    bytes: async () => false,
    note: () => undefined,
  };
  const opened = new Opened();
  try {
    const metrics = new Metrics(programVersion());
    const gateway = await compose({
      config,
      log,
      output,
      opened,
      metrics,
      certificate: undefined,
      identify: options.identify,
    });
    return embedded(gateway, opened, config['shutdown.grace']);
  } catch (error) {
    await opened.close();
    throw error;
  }
}

function configOf({ config = {}, adminKey }: GatewayOptions): Config {
  const parsed = parseConfig('the configuration', stringify(config));
  return { ...parsed, processes: 1, admin_key: adminKey ?? null };
}

function embedded(gateway: Gateway, opened: Opened, graceMillis: number): EmbeddedGateway {
  const listener = (incoming: IncomingMessage, response: ServerResponse): void =>
    gateway.drain.track(exchange(gateway, incoming, response, { waiting: false, site: 'all' }));
  const middleware: EmbeddedGateway['middleware'] = (incoming, response, next) => {
    if (!isOwnPath(targetPath(incoming.url ?? ''))) next();
    else if (incoming.readableDidRead) next(alreadyRead());
    else listener(incoming, response);
  };
  return {
    listener,
    middleware,
    fastify: fastifyPlugin(middleware),
    authorize: (request, described) => {
      const deciding = decideDescribed(gateway, receiveDescribed(gateway, request, described));
      gateway.drain.track(deciding.then(ignore, ignore));
      return deciding;
    },
    close: once(() => close(gateway, opened, graceMillis)),
  };
}

const ignore = (): void => undefined;

/** The described request, with the headers, the address and the properties of the other one. */
function receiveDescribed(
  { trustedProxies }: Gateway,
  request: IncomingMessage,
  { method, path }: DescribedRequest,
): Received {
  const incoming = Object.create(request, {
    method: { value: method },
    url: { value: path },
  }) as IncomingMessage;
  return receive(incoming, new ServerResponse(incoming), false, trustedProxies);
}

/** Handles requests before Fastify does. It has no scope of its own, so it receives every path. */
function fastifyPlugin(middleware: EmbeddedGateway['middleware']): EmbeddedGateway['fastify'] {
  const plugin: EmbeddedGateway['fastify'] = (instance, _options, done) => {
    instance.addHook('onRequest', (request, reply, next) => {
      if (isOwnPath(targetPath(request.raw.url ?? ''))) reply.hijack();
      middleware(request.raw, reply.raw, next);
    });
    done();
  };
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true });
}

function alreadyRead(): Error {
  return new Error('the body was read before the gateway got it: put it before what parses bodies');
}

async function close({ drain }: Gateway, opened: Opened, graceMillis: number): Promise<void> {
  drain.refuse();
  const timer = new AbortController();
  const late = sleep(graceMillis, undefined, { signal: timer.signal }).catch(() => undefined);
  await Promise.race([drain.idle(), late]);
  timer.abort();
  await opened.close();
}

function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => (running ??= work());
}
