import { ServerResponse, type Agent } from 'node:http';
import HttpProxy from 'http-proxy';
import { agentFor } from './connection-agent.ts';
import type { RemoteOptions } from './backend-options.ts';
import { Exchange, type WhenGone } from './exchange.ts';
import { ForwardedRequest, type Forwarded } from './forwarded-request.ts';
import type { RemoteResponse } from './remote-response.ts';
import { WholeRequest, type Whole } from './whole-request.ts';

/**
 * Sends requests through `http-proxy`, which gives the answer as a stream and
 * writes nothing itself (`selfHandleResponse`); those whose body is at hand, as
 * it mostly is, it sends itself over the same connections, at half the cost. What
 * both leave out, `Exchange` sees to: time limits, and an end for everything that breaks.
 */
export class Forwarder {
  readonly #proxy: HttpProxy<ForwardedRequest>;
  readonly #options: RemoteOptions;
  readonly #agent: Agent;
  /** Where answers would go that nobody handles; nothing is ever written to it. */
  readonly #sink: ServerResponse;
  readonly #hostname: string;
  readonly #base: string;
  readonly #proxiesAll: boolean;

  /** @param proxiesAll Whether everything goes through `http-proxy`. */
  constructor(options: RemoteOptions, proxiesAll = false) {
    const { url } = options;
    this.#options = options;
    this.#proxiesAll = proxiesAll;
    this.#agent = agentFor(options);
    this.#hostname = hostOf(url);
    this.#base = url.pathname.replace(/\/+$/, '').replace(/\/+/g, '/');
    this.#sink = new ServerResponse(new ForwardedRequest(nothing));
    this.#proxy = new HttpProxy({
      // Taken apart once: `http-proxy` would do it for each request.
      target: { protocol: url.protocol, host: url.host, hostname: this.#hostname, port: url.port },
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
  send(forwarded: Forwarded, whenGone: WhenGone): Promise<RemoteResponse> {
    const { method, headers, body } = forwarded;
    const path = this.#base + forwarded.path;
    const isWhole = body === null || body instanceof Uint8Array;
    return isWhole && !this.#proxiesAll
      ? this.#sendWhole({ method, path, headers, body }, whenGone)
      : this.#proxied({ method, path, headers, body }, whenGone);
  }

  #sendWhole(whole: Whole, whenGone: WhenGone): Promise<RemoteResponse> {
    const request = new WholeRequest(whole);
    const exchange = new Exchange(request, this.#options.timeouts, whenGone);
    const { url } = this.#options;
    request.send({ url, hostname: this.#hostname, agent: this.#agent }, exchange);
    return exchange.head;
  }

  #proxied(forwarded: Forwarded, whenGone: WhenGone): Promise<RemoteResponse> {
    const headers = Object.assign({ host: this.#options.url.host }, forwarded.headers);
    const request = new ForwardedRequest({ ...forwarded, headers });
    const exchange = new Exchange(request, this.#options.timeouts, whenGone);
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
