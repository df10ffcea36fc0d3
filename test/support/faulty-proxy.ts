import { once } from 'node:events';
import {
  Agent,
  createServer,
  request as send,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from './eventually.ts';

/**
 * What happens to a request on its way to an S3 server. `late`: it is sent after a while. `error`,
 * `busy`: it is not sent, and answered 500 or 503 SlowDown. `reset`: it is not sent, and the
 * connection is cut. `cut`: half of the answer's body arrives. `lost`: it takes effect, and is
 * answered 500. `unanswered`: it takes effect, and no answer comes. `hung`: it is not sent, and no answer comes.
 */
export type Mishap = 'late' | 'error' | 'busy' | 'reset' | 'cut' | 'lost' | 'unanswered' | 'hung';

/** Chooses what happens to a request; undefined for nothing. */
export type Fate = (request: IncomingMessage) => Mishap | undefined;

const LATE_MILLIS = 100;

/** A way to an S3 server on which requests and answers come to harm. */
export class FaultyProxy {
  readonly url: string;
  readonly #server: Server;
  readonly #target: URL;
  readonly #agent = new Agent({ keepAlive: true });
  /** What happens to each request. */
  fate: Fate = () => undefined;
  /** Headers that are taken from each request. */
  dropped: readonly string[] = [];
  /** Number of requests that came. */
  requests = 0;
  /** Most requests that were there at the same time. */
  most = 0;
  #now = 0;
  /** Requests that get no answer. */
  readonly #silent = new Set<ServerResponse>();

  private constructor(target: string, server: Server, scheme: string) {
    this.#target = new URL(target);
    this.#server = server;
    this.url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** @param tls PEM texts of a certificate, for a proxy that speaks TLS. */
  static async before(
    target: string,
    tls?: { readonly cert: string; readonly key: string },
  ): Promise<FaultyProxy> {
    const server: Server = tls === undefined ? createServer() : createTlsServer(tls);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new FaultyProxy(target, server, tls === undefined ? 'http' : 'https');
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      proxy.requests += 1;
      proxy.#now += 1;
      proxy.most = Math.max(proxy.most, proxy.#now);
      const done = proxy.#pass(request, response).catch(() => response.destroy());
      void done.then(() => {
        proxy.#now -= 1;
      });
    });
    return proxy;
  }

  /** Lets something happen to the next requests that a condition holds for. */
  next(mishap: Mishap, isMeant: (request: IncomingMessage) => boolean, count = 1): void {
    let left = count;
    this.fate = (request) => {
      if (left === 0 || !isMeant(request)) return undefined;
      left -= 1;
      return mishap;
    };
  }

  /** Resolves when what was sent on has taken effect. */
  async settled(): Promise<void> {
    await waitUntil(() => this.#now === 0);
  }

  /** Cuts the connections of the requests that get no answer, as when a network comes back. */
  release(): void {
    for (const response of this.#silent) response.destroy();
    this.#silent.clear();
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const mishap = this.fate(request);
    const body = await bytesOf(request);
    if (mishap === 'hung') return void this.#silent.add(response);
    if (mishap === 'late') await sleep(LATE_MILLIS);
    if (mishap === 'error') return fail(response, 500, 'InternalError');
    if (mishap === 'busy') return fail(response, 503, 'SlowDown');
    if (mishap === 'reset') return void request.socket.destroy();
    const answer = await this.#forward(request, body);
    const bytes = await bytesOf(answer);
    if (mishap === 'lost') return fail(response, 500, 'InternalError');
    if (mishap === 'unanswered') return void this.#silent.add(response);
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    if (mishap !== 'cut') return void response.end(bytes);
    response.write(bytes.subarray(0, Math.floor(bytes.byteLength / 2)), () => response.destroy());
  }

  async #forward(request: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
    const sent = send({
      agent: this.#agent,
      host: this.#target.hostname,
      port: this.#target.port,
      method: request.method,
      path: request.url,
      headers: Object.fromEntries(
        Object.entries(request.headers).filter(([name]) => !this.dropped.includes(name)),
      ),
    });
    sent.end(body);
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    return answer;
  }
}

function fail(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`);
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of message) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}
