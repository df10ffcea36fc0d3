import { ServerResponse, type Agent } from 'node:http';
import HttpProxy from 'http-proxy';
import { agentFor } from './connection-agent.ts';
import type { RemoteOptions } from './backend-options.ts';
import { Exchange } from './exchange.ts';
import { ForwardedRequest, type Forwarded } from './forwarded-request.ts';
import type { RemoteResponse } from './remote-response.ts';

/**
 * Sends requests through `http-proxy`, which gives the answer as a stream and
 * writes nothing itself (`selfHandleResponse`). What it leaves out, `Exchange`
 * sees to: time limits, and an end for everything that breaks.
 */
export class Forwarder {
  readonly #proxy: HttpProxy<ForwardedRequest>;
  readonly #options: RemoteOptions;
  readonly #agent: Agent;
  /** Where answers would go that nobody handles; nothing is ever written to it. */
  readonly #sink: ServerResponse;
  readonly #host: string;
  readonly #base: string;

  constructor(options: RemoteOptions) {
    const { url } = options;
    this.#options = options;
    this.#agent = agentFor(options);
    this.#host = url.host;
    this.#base = url.pathname.replace(/\/+$/, '');
    this.#sink = new ServerResponse(new ForwardedRequest(nothing));
    this.#proxy = new HttpProxy({
      // Taken apart once: `http-proxy` would do it for each request.
      target: { protocol: url.protocol, host: url.host, hostname: hostOf(url), port: url.port },
      agent: this.#agent,
      selfHandleResponse: true,
      prependPath: false,
      toProxy: true,
    });
    this.#proxy.on('proxyReq', (outgoing, request) => request.watcher?.begun(outgoing));
    this.#proxy.on('proxyRes', (message, request) => request.watcher?.answered(message));
    // Each request has a listener of its own; without this one, `http-proxy` throws.
    this.#proxy.on('error', () => undefined);
  }

  /**
   * Sends a request and waits for the head of its answer.
   * @throws ExchangeFault
   */
  send(forwarded: Forwarded, signal: AbortSignal): Promise<RemoteResponse> {
    const { method, path, headers, body } = forwarded;
    const request = new ForwardedRequest({
      method,
      path: this.#base + path,
      headers: Object.assign({ host: this.#host }, headers),
      body,
    });
    const exchange = new Exchange(request, this.#options.timeouts, signal);
    this.#proxy.web(request, this.#sink, {}, (error) => exchange.failed(error));
    return exchange.head;
  }

  /** Closes the connections that are not in use. */
  close(): void {
    this.#agent.destroy();
  }
}

/** An IPv6 address stands in brackets in a URL alone. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

const nothing: Forwarded = { method: 'GET', path: '/', headers: {}, body: null };
