import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  exportJWK,
  generateKeyPair,
  SignJWT,
  type CryptoKey,
  type JWK,
  type JWTPayload,
} from 'jose';

/** A key pair of an issuer. */
export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly secret: CryptoKey;
  readonly shown: JWK;
}

/** Makes a key pair; its public half carries its id and what it is for. */
export async function signingKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const shown = { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' };
  return { kid, alg, secret: privateKey, shown };
}

type Respond = (incoming: IncomingMessage, response: ServerResponse) => void;

/** An issuer of tokens with a key set at an address, that can be out of order. */
export class IdentityProvider {
  readonly issuer = 'https://idp.example.com';
  readonly #server: Server;
  /** Keys that the key set shows. */
  keys: readonly SigningKey[];
  /** Answers in place of the key set. */
  respond: Respond | undefined;
  /** How often the key set was asked for. */
  asked = 0;

  private constructor(server: Server, keys: readonly SigningKey[]) {
    this.#server = server;
    this.keys = keys;
    server.on('request', (incoming, response) => this.#answer(incoming, response));
  }

  static async start(...keys: readonly SigningKey[]): Promise<IdentityProvider> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new IdentityProvider(server, keys);
  }

  get uri(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/jwks`;
  }

  get keySet(): string {
    return JSON.stringify({ keys: this.keys.map(({ shown }) => shown) });
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #answer(incoming: IncomingMessage, response: ServerResponse): void {
    this.asked++;
    if (this.respond !== undefined) return this.respond(incoming, response);
    response.setHeader('content-type', 'application/json');
    response.end(this.keySet);
  }
}

/** Seconds since 1970, so many from now. */
export function secondsFromNow(seconds: number): number {
  return Math.floor(Date.now() / 1000) + seconds;
}

/** Claims that the tests' issuers are believed with. */
export function goodClaims(more: JWTPayload = {}): JWTPayload {
  return {
    iss: 'https://idp.example.com',
    aud: 'catalog',
    sub: 'ann',
    exp: secondsFromNow(600),
    ...more,
  };
}

/** A token of these claims, with more in its header. */
export function tokenOf(
  key: SigningKey,
  claims: JWTPayload = goodClaims(),
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const all = { alg: key.alg, kid: key.kid, ...header };
  const crit = Object.fromEntries(
    (Array.isArray(header['crit']) ? header['crit'] : []).map((name: string) => [name, true]),
  );
  return new SignJWT(claims).setProtectedHeader(all).sign(key.secret, { crit });
}
