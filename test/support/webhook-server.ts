import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a webhook was asked. */
export interface Asked {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Reply = (response: ServerResponse) => void;

/** A program that commits are put before. */
export class WebhookServer {
  readonly url: string;
  readonly #server: Server;
  asked: Asked[] = [];
  reply: Reply = says({ allow: true });

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    server.on('request', (request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        this.asked.push({ headers: request.headers, body: Buffer.concat(pieces).toString() });
        this.reply(response);
      });
    });
  }

  static async start(): Promise<WebhookServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new WebhookServer(server);
  }

  /** Lets everything in that comes, and has been asked nothing. */
  reset(): void {
    this.asked = [];
    this.reply = says({ allow: true });
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** An answer of JSON. */
export function says(value: unknown): Reply {
  return (response) => response.end(JSON.stringify(value));
}
