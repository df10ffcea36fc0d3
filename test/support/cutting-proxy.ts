import { once } from 'node:events';
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';

const BAD_GATEWAY = 'HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n';

/** A way to a service on which answers can get lost: the service gives them, and the client is told what a load balancer says then. */
export class CuttingProxy {
  readonly url: string;
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  #cuts = 0;
  #lost = 0;

  private constructor(server: Server) {
    this.#server = server;
    const { port } = server.address() as AddressInfo;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async before(serviceUrl: string): Promise<CuttingProxy> {
    const { hostname, port } = new URL(serviceUrl);
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new CuttingProxy(server);
    server.on('connection', (client) => proxy.#pass(client, connect(Number(port), hostname)));
    return proxy;
  }

  /** How many answers got lost so far. */
  get lost(): number {
    return this.#lost;
  }

  /** Loses the next answers. */
  loseNext(count = 1): void {
    this.#cuts = count;
  }

  async close(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #pass(client: Socket, service: Socket): void {
    const both = [client, service];
    for (const socket of both) {
      this.#open.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => this.#open.delete(socket));
    }
    client.on('close', () => service.destroy());
    client.pipe(service);
    service.on('data', (bytes) => {
      if (this.#cuts === 0) {
        client.write(bytes);
        return;
      }
      this.#cuts -= 1;
      this.#lost += 1;
      service.destroy();
      client.end(BAD_GATEWAY);
    });
  }
}
