import { ServerResponse, type Agent } from 'node:http';
import HttpProxy from 'http-proxy';
import type { RemoteOptions } from './backend-options.ts';
import { agentFor } from './connection-agent.ts';
import { ClientPool } from './client-pool.ts';
import { ConnectionLimit, Seats, type Seated } from './connection-limit.ts';
import { Exchange, type SentRequest, type OnDisconnect } from './exchange.ts';
import { ForwardedRequest, type Forwarded } from './forwarded-request.ts';
import type { RemoteResponse } from './remote-response.ts';
import { WholeRequest } from './whole-request.ts';

/**
 * Sends requests through `http-proxy`, which gives the answer as a stream and
 * writes nothing itself (`selfHandleResponse`); those whose body is at hand, as
 * it mostly is, it sends itself, at a fraction of the cost. What both leave out,
 * `Exchange` sees to: time limits, and an end for everything that breaks.
 */
export class Forwarder {
  readonly #proxy: HttpProxy<ForwardedRequest>;
  readonly #options: RemoteOptions;
  readonly #seats: Seats;
  readonly #pool: ClientPool;
  readonly #agent: Agent;
  /** Placeholder response for `http-proxy`; nothing is ever written to it. */
  readonly #sink: ServerResponse;
  readonly #host: string;
  readonly #base: string;
  #proxiesAll: boolean;

  /** @param proxiesAll Whether every request goes through `http-proxy`. */
  constructor(options: RemoteOptions, proxiesAll = false) {
    const { url, connections } = options;
    const { host } = url;
    const hostname = hostOf(url);
    const limit = new ConnectionLimit(connections);
    this.#options = options;
    this.#host = host;
    this.#proxiesAll = proxiesAll;
    this.#seats = new Seats(connections);
    this.#pool = new ClientPool(options, limit);
    this.#agent = agentFor(options, limit);
    this.#base = url.pathname.replace(/\/+$/, '').replace(/\/+/g, '/');
    this.#sink = new ServerResponse(new ForwardedRequest(nothing));
    this.#proxy = new HttpProxy({
      // Taken apart once: `http-proxy` would do it for each request.
      target: { protocol: url.protocol, host, hostname, port: url.port },
      agent: this.#agent,
      selfHandleResponse: true,
      prependPath: false,
      toProxy: true,
    });
    this.#proxy.on('proxyReq', (outgoing, request) => request.begun(outgoing));
    this.#proxy.on('proxyRes', (message, request) => request.answered(message));
    // Each request has a listener of its own; without this one, `http-proxy` throws.
    this.#proxy.on('error', () => undefined);
  }

  /**
   * Sends a request and waits for the head of its answer.
   * @throws ExchangeFault
   */
  send(forwarded: Forwarded, onDisconnect: OnDisconnect): Promise<RemoteResponse> {
    const { method, headers, body } = forwarded;
    const path = this.#base + forwarded.path;
    const host = this.#host;
    if (this.#proxiesAll || !(body === null || body instanceof Uint8Array)) {
      return this.#proxied(
        { method, path, headers: Object.assign({ host }, headers), body },
        onDisconnect,
      );
    }
    const request = new WholeRequest(
      { method, path, headers, body },
      { pool: this.#pool, onContinue: () => (this.#proxiesAll = true) },
    );
    return this.#exchanged(request, request, onDisconnect);
  }

  #proxied(forwarded: Forwarded, onDisconnect: OnDisconnect): Promise<RemoteResponse> {
    const request = new ForwardedRequest(forwarded);
    const failed = (error: Error): void => request.failed(error);
    const seated = (): void => {
      try {
        this.#proxy.web(request, this.#sink, {}, failed);
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        request.refused(error);
      }
    };
    return this.#exchanged(request, { seated }, onDisconnect);
  }

  /** Begins a request as soon as it has a seat. */
  #exchanged(
    request: SentRequest,
    seated: Seated,
    onDisconnect: OnDisconnect,
  ): Promise<RemoteResponse> {
    const { timeouts } = this.#options;
    const over = (): void => this.#seats.leave(seated);
    const exchange = new Exchange(request, { timeouts, onDisconnect, over });
    this.#seats.take(seated);
    exchange.waitForConnection();
    return exchange.head;
  }

  /** Closes the connections that are not in use. */
  close(): void {
    this.#agent.destroy();
    this.#pool.close();
  }
}

/** An IPv6 address stands in brackets in a URL alone. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

const nothing: Forwarded = { method: 'GET', path: '/', headers: {}, body: null };
