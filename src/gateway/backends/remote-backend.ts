import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Answer, Backend, ByteStream, CatalogRequest } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { Permit } from '../../protocol/permit.ts';
import {
  renderedAnswer,
  renderedRequest,
  translationTo,
  type Translation,
} from './backend-dialect.ts';
import {
  boundedBody,
  checkBodyLength,
  hasBody,
  collected,
  jsonIn,
  type BodyLimits,
} from './bounded-body.ts';
import type { RemoteOptions } from './backend-options.ts';
import { CircuitBreaker, type Trial } from '../../storage/circuit-breaker.ts';
import type { OnDisconnect } from './exchange.ts';
import { BackendUnavailable, ExchangeFault } from './remote-error.ts';
import type { Forwarded } from './forwarded-request.ts';
import { Forwarder } from './forwarder.ts';
import { answerOf } from './remote-answer.ts';
import { guard, type Guarded } from './remote-guard.ts';
import { credentialHeader, databaseHeader, headersOut } from './remote-headers.ts';
import { rootListing, visibleListing, withoutBody, type PageTokens } from './remote-listing.ts';
import { RemoteMonitor } from './remote-monitor.ts';
import { remotePath } from './remote-path.ts';
import type { RemoteResponse } from './remote-response.ts';
import { TrustProbe } from './trust-probe.ts';
import { randomBytes } from 'node:crypto';

/** More gateways one behind the other than anyone needs are a loop. */
const MOST_HOPS = 8;

/** Pseudonym of this process in `Via` (RFC 9110 section 7.6.3). */
const own = `arrowgate-${randomBytes(6).toString('hex')}`;

/**
 * The `Via` of a request for its next hop.
 * @throws BackendUnavailable when the request has been here already, or went through too many gateways
 */
function nextVia(via: string | undefined): string {
  const hop = `1.1 ${own}`;
  if (via === undefined) return hop;
  const hops = via.split(',').filter((each) => /\sarrowgate-/.test(each));
  if (via.includes(own) || hops.length >= MOST_HOPS) {
    throw new BackendUnavailable('the request loops between gateways');
  }
  return `${via}, ${hop}`;
}

const TRACE_PARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;

/** The trace context of a request. */
export interface Traced {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The span of this gateway, where it keeps a trace. */
  readonly traceparent?: string | undefined;
}

/**
 * Adds the trace of a request for the next hop (W3C Trace Context, section 3): the span of
 * this gateway where it keeps one, which continues the client's; else that of the
 * client, or one that begins here and whose id is that of the decision, so that the
 * audit log leads to it.
 * @param to The headers for the next hop.
 */
export function addTraceContext(
  to: Record<string, string>,
  { headers, traceparent: own }: Traced,
  decisionId: string,
): void {
  const { traceparent: sent, tracestate } = headers;
  if (typeof sent === 'string' && TRACE_PARENT.test(sent)) {
    to['traceparent'] = own ?? sent;
    if (typeof tracestate === 'string') to['tracestate'] = tracestate;
  } else {
    to['traceparent'] = own ?? begun(decisionId);
  }
}

/** A new trace context: a UUID without hyphens, and half of it as the id of the first span. */
function begun(id: string): string {
  const last = id.slice(19, 23) + id.slice(24);
  return `00-${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(14, 18)}${last}-${last}-00`;
}

/** A body up to this size is taken whole before it is sent, so that it can be sent again. */
const REPEATABLE_BYTES = 64 * 1024;
const JSON_TYPE = 'application/json';
const EMPTY_OBJECT = Buffer.from('{}');
/** How often a read is sent when connections fail. */
const MOST_SENDINGS = 3;
/** How long a backend that cannot be reached is left alone before it is tried again for the same read. */
const PAUSE_MILLIS = 50;

/**
 * A catalog elsewhere. It gets what was understood of a request, with the
 * gateway's own credential in place of the caller's; it gets no permit, so
 * `guard` refuses what only a permit could decide.
 */
export class RemoteBackend implements Backend, Guarded {
  readonly options: RemoteOptions;
  readonly #breaker: CircuitBreaker;
  readonly #forwarder: Forwarder;
  /** Its credential and its database. */
  readonly #own: Readonly<Record<string, string>>;
  readonly #monitor: RemoteMonitor;
  readonly #pageTokens: PageTokens = { kind: undefined };

  constructor(options: RemoteOptions, log: Logger) {
    const { name, breaker, credential } = options;
    this.options = options;
    const failed = `the backend ${name} failed and is tried again later`;
    const refusal = (seconds: number): Error => new BackendUnavailable(failed, String(seconds));
    this.#breaker = new CircuitBreaker({ refusal, ...breaker });
    this.#forwarder = new Forwarder(options);
    this.#own = { ...credentialHeader(credential), ...databaseHeader(options) };
    this.#monitor = new RemoteMonitor({
      name,
      log,
      breaker: this.#breaker,
      probe: new TrustProbe(options, this.#forwarder),
      credential: credential !== undefined,
    });
  }

  get name(): string {
    return this.options.name;
  }

  get prefix(): RemoteOptions['prefix'] {
    return this.options.prefix;
  }

  get trust(): RemoteOptions['trust'] {
    return this.options.trust;
  }

  get checksBodies(): boolean {
    return this.#monitor.distrust === undefined;
  }

  /** Why the backend receives only requests that need no trust beyond its configured `trust`. */
  get distrust(): string | undefined {
    return this.#monitor.distrust;
  }

  /** Begins the probes. Resolves after the first one, successful or not. */
  start(): Promise<void> {
    return this.#monitor.start();
  }

  async handle(request: CatalogRequest, permit: Permit): Promise<Answer> {
    const via = nextVia(request.headers.via);
    guard(request, permit, this);
    return request.operation.access === 'list'
      ? this.#list(request, permit, via)
      : this.#call(request, permit, via);
  }

  /** Lists the visible names. A caller that may see everything gets the backend's pages unchanged. */
  async #list(request: CatalogRequest, permit: Permit, via: string): Promise<Answer> {
    const { name, dialect, page, bodies } = this.options;
    const listing = withoutBody(request, await jsonIn(request, bodies));
    const send = (sent: CatalogRequest): Promise<Answer> => this.#call(sent, permit, via);
    if (permit.holdsBelow('see', request.object)) {
      return send(dialect === 'both' ? listing : rootListing(listing));
    }
    return visibleListing(listing, permit, { name, page, tokens: this.#pageTokens, send });
  }

  #call(request: CatalogRequest, permit: Permit, via: string): Promise<Answer> {
    const { dialect } = this.options;
    const translation = dialect === 'both' ? undefined : translationTo(dialect, request);
    return translation === undefined
      ? this.#forward(request, permit, via)
      : this.#translated(translation, request, permit, via);
  }

  async #translated(
    translation: Translation,
    request: CatalogRequest,
    permit: Permit,
    via: string,
  ): Promise<Answer> {
    const rendered = await renderedRequest(request, translation, this.options.bodies);
    const answer = await this.#forward(rendered, permit, via);
    return renderedAnswer(answer, translation, request, this.name);
  }

  async #forward(request: CatalogRequest, permit: Permit, via: string): Promise<Answer> {
    const path = remotePath(request, this.prefix);
    // A backend may act on a length alone, without the end of the body.
    if (request.ahead !== undefined) await request.ahead.recorded();
    const trial = this.#breaker.enter();
    try {
      const body = bodyOf(request, this.options.bodies);
      const sent: Forwarded = {
        method: request.method ?? 'POST',
        path,
        headers: this.#headersOf(request, permit, via),
        body: body instanceof Promise ? await body : body,
      };
      const response = await this.#send(sent, request);
      return this.#watched(await this.#answer(response, request, trial), request);
    } catch (error) {
      if (error instanceof ExchangeFault && isBlamed(error)) trial.failed();
      throw this.#describedError(error, request);
    } finally {
      trial.undecided();
    }
  }

  async health(): Promise<string | undefined> {
    const { fault } = this.#monitor;
    return fault === undefined ? undefined : `the backend ${this.name} ${fault}`;
  }

  async weakness(): Promise<undefined> {}

  close(): void {
    this.#monitor.stop();
    this.#forwarder.close();
  }

  #headersOf(request: CatalogRequest, permit: Permit, via: string): Record<string, string> {
    // One object from the beginning to the end: each copy would be made for each request.
    const headers = headersOut(request.headers, request.operation);
    addTraceContext(headers, request, permit.decisionId);
    for (const name in this.#own) headers[name] = this.#own[name]!;
    headers['x-request-id'] = request.requestId;
    headers['via'] = via;
    if (hasBody(request)) {
      if (request.operation.body === 'json') headers['content-type'] = jsonType(headers);
      return headers;
    }
    delete headers['content-length'];
    delete headers['content-type'];
    if (needsJson(request)) headers['content-type'] = JSON_TYPE;
    else if (request.method !== 'GET') headers['content-length'] = '0';
    return headers;
  }

  /** Retries a read whose connection failed, if the retry fits into one connection timeout. */
  #send(sent: Forwarded, request: CatalogRequest): Promise<RemoteResponse> {
    const onDisconnect = request.onDisconnect ?? aborts(request.signal());
    const retry =
      !request.operation.mutates && (sent.body === null || sent.body instanceof Uint8Array);
    return retry
      ? this.#sendRepeatedly(sent, onDisconnect)
      : this.#forwarder.send(sent, onDisconnect);
  }

  async #sendRepeatedly(sent: Forwarded, onDisconnect: OnDisconnect): Promise<RemoteResponse> {
    const until = performance.now() + this.options.timeouts.connect;
    for (let count = 1; ; count += 1) {
      try {
        return await this.#forwarder.send(sent, onDisconnect);
      } catch (error) {
        const unsent = error instanceof ExchangeFault && isUnsent(error);
        if (!unsent || count === MOST_SENDINGS || performance.now() > until) throw error;
        if (error.kind === 'unreached') await sleep(PAUSE_MILLIS);
      }
    }
  }

  async #answer(response: RemoteResponse, request: CatalogRequest, trial: Trial): Promise<Answer> {
    try {
      const answer = answerOf(response, request, this.name);
      const settled = answer instanceof Promise ? await answer : answer;
      trial.succeeded();
      return settled;
    } catch (error) {
      // A proxy in front of the backend reports that no backend answers.
      const failed = response.status === 502 || response.status === 504;
      if (!(error instanceof CatalogError)) throw error;
      if (failed) trial.failed();
      else trial.succeeded();
      throw error;
    }
  }

  /** A response whose body still streams: a failure of the body is a failure of the backend. */
  #watched(answer: Answer, request: CatalogRequest): Answer {
    const { body } = answer;
    if (body === null || typeof body === 'string') return answer;
    const failed = (error: unknown): unknown => {
      if (error instanceof ExchangeFault && isBlamed(error)) this.#breaker.note(false);
      return this.#describedError(error, request);
    };
    return { ...answer, body: watchedStream(body, failed) };
  }

  /** The error that the caller gets for a failure. */
  #describedError(error: unknown, { operation }: CatalogRequest): unknown {
    if (!(error instanceof ExchangeFault) || error.kind === 'client') return error;
    const unsure = operation.mutates && error.kind !== 'unreached' && error.kind !== 'busy';
    const caveat = unsure ? '; whether the change took effect is not known' : '';
    return new BackendUnavailable(`the backend ${this.name} ${error.message}${caveat}`, '1');
  }
}

/** Passes a body through and translates its errors. */
function watchedStream(body: ByteStream, failed: (error: unknown) => unknown): ByteStream {
  return {
    async *[Symbol.asyncIterator]() {
      try {
        yield* body;
      } catch (error) {
        throw failed(error);
      }
    },
  };
}

/** The same for a client whose disconnect aborts a signal. */
function aborts(signal: AbortSignal): OnDisconnect {
  return (listener) => {
    if (signal.aborted) queueMicrotask(listener);
    else signal.addEventListener('abort', listener, { once: true });
    return () => signal.removeEventListener('abort', listener);
  };
}

/** Whether the fault is the backend's: not where its client left, nor where all connections are in use. */
function isBlamed({ kind }: ExchangeFault): boolean {
  return kind !== 'client' && kind !== 'busy';
}

/** Whether the backend read nothing of the request for certain, or nothing of a read matters. */
function isUnsent({ kind }: ExchangeFault): boolean {
  return kind === 'unreached' || kind === 'stale';
}

/** The body to send: a small JSON body is buffered, any other is streamed. */
function bodyOf(
  request: CatalogRequest,
  limits: BodyLimits,
): Forwarded['body'] | Promise<Forwarded['body']> {
  if (!hasBody(request)) return needsJson(request) ? EMPTY_OBJECT : null;
  checkBodyLength(request, limits);
  const length = Number(request.headers['content-length'] ?? Infinity);
  if (request.operation.body === 'arrow' || length > REPEATABLE_BYTES) {
    return boundedBody(request, limits);
  }
  return request.body.atHand?.() ?? collected(boundedBody(request, limits));
}

/** The type of a JSON body. Clients leave it out or send another one, which not every server takes for JSON. */
function jsonType({ 'content-type': type }: Readonly<Record<string, string>>): string {
  return type !== undefined && /^application\/json\s*(;|$)/i.test(type) ? type : JSON_TYPE;
}

/** Whether an operation needs a body although the client sent none: some servers require one. */
function needsJson(request: CatalogRequest): boolean {
  return request.operation.body === 'json' && request.method !== 'GET';
}
