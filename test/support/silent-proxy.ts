import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/**
 * A way to a server whose connections can fall silent, as those to a machine that
 * is gone do: they stay open, and nothing goes through them any more. New ones work.
 */
export class SilentProxy {
  readonly port: number;
  readonly #server: Server;
  readonly #open = new Set<readonly [Socket, Socket]>();
  #connections = 0;
  /** Whether new connections are closed at once. */
  shut = false;

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  static async before(port: number): Promise<SilentProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new SilentProxy(server);
    server.on('connection', (client) => {
      if (proxy.shut) client.destroy();
      else proxy.#pass(client, connect(port, '127.0.0.1'));
    });
    return proxy;
  }

  /** How many connections were made. */
  get connections(): number {
    return this.#connections;
  }

  /** From now on nothing passes through the connections that there are, or only requests do. */
  silence(what: 'all' | 'answers' = 'all'): void {
    for (const [client, server] of this.#open) {
      // Whatever comes is taken, and goes nowhere.
      server.unpipe(client).resume();
      if (what === 'all') client.unpipe(server).resume();
    }
  }

  async close(): Promise<void> {
    for (const pair of this.#open) for (const socket of pair) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #pass(client: Socket, server: Socket): void {
    const pair = [client, server] as const;
    this.#connections += 1;
    this.#open.add(pair);
    const end = (): void => {
      for (const socket of pair) socket.destroy();
      this.#open.delete(pair);
    };
    for (const socket of pair) socket.on('error', end).on('close', end);
    client.pipe(server);
    server.pipe(client);
  }
}
