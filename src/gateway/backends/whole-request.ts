import {
  request as requestPlain,
  type Agent,
  type ClientRequest,
  type RequestOptions,
} from 'node:http';
import { request as requestSecure } from 'node:https';
import type { Exchange, SentRequest } from './exchange.ts';
import type { Watcher } from './forwarded-request.ts';

/** What there is to send: a body that is at hand, or none. */
export interface Whole {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
}

/** Where requests go, and over which connections. */
export interface Destination {
  readonly url: URL;
  /** Its host without the brackets of an address. */
  readonly hostname: string;
  readonly agent: Agent;
}

/**
 * A request that is sent at once: nothing of it is still to come, so nothing has to be
 * passed on as it comes, which is most of what `http-proxy` does for a request.
 */
export class WholeRequest implements SentRequest {
  readonly #whole: Whole;
  #outgoing: ClientRequest | undefined;
  watcher: Watcher | undefined;
  readonly waitsForClient = false;
  readonly fault: unknown = undefined;

  constructor(whole: Whole) {
    this.#whole = whole;
  }

  /** Sends it, and tells the exchange how it fares. */
  send(destination: Destination, exchange: Exchange): void {
    const outgoing = begin(this.#whole, destination);
    this.#outgoing = outgoing;
    outgoing.on('socket', () => exchange.begun(outgoing));
    outgoing.on('response', (message) => exchange.answered(message));
    outgoing.on('error', (error) => exchange.failed(error));
    const { body } = this.#whole;
    if (body === null) outgoing.end();
    else outgoing.end(latin1(body), 'latin1');
  }

  /** It was sent with the head. */
  sendWhole(): void {}

  abandon(): void {
    this.#outgoing?.destroy();
  }
}

function begin(whole: Whole, { url, hostname, agent }: Destination): ClientRequest {
  const isSecure = url.protocol === 'https:';
  const options: RequestOptions = {
    agent,
    hostname,
    port: url.port === '' ? (isSecure ? 443 : 80) : url.port,
    method: whole.method,
    path: whole.path,
    headers: flat(url.host, whole.headers),
  };
  return isSecure ? requestSecure({ ...options, rejectUnauthorized: true }) : requestPlain(options);
}

/** Names and values in a row: Node writes them as they are, without an entry for each. */
function flat(host: string, headers: Readonly<Record<string, string>>): readonly string[] {
  const all = ['host', host];
  for (const name in headers) all.push(name, headers[name]!);
  return all;
}

/** As Latin-1 a string stands for any bytes; head and body then go out in one piece. */
function latin1({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1');
}
