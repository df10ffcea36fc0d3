import { once } from 'node:events';
import { createServer, type Server, type Socket, type AddressInfo } from 'node:net';

/** What a backend does with a connection once the head of a request came. */
export type Failure = (socket: Socket, head: string) => void;

const error = JSON.stringify({ error: 'the body names another table', code: 13 });
const refusal = `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: ${error.length}\r\n\r\n${error}`;
const unauthenticated = 'HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n';

/**
 * A backend that answers probes as it should, and each other request in the
 * way that the name of its table says: bytes on a bare socket, so that it can do
 * what no HTTP server would.
 */
export class FailingBackend {
  /** The requests that were no probes, in order: their heads, and on which connections they came. */
  readonly requests: { readonly head: string; readonly socket: Socket }[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  private constructor(failures: Readonly<Record<string, Failure>>) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
      let text = '';
      const take = (chunk: Buffer): void => {
        text += chunk.toString('latin1');
        const end = text.indexOf('\r\n\r\n');
        if (end < 0) return;
        const head = text.slice(0, end);
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
        if (head.includes('arrowgate-probe')) {
          if (text.length < end + 4 + length) return;
          text = text.slice(end + 4 + length);
          socket.write(head.includes('x-api-key') ? refusal : unauthenticated);
          return;
        }
        socket.off('data', take);
        this.requests.push({ head, socket });
        const name = /\/v1\/table\/[^/]*%24([\w-]+)/.exec(head)?.[1] ?? '';
        failures[name]?.(socket, head);
      };
      socket.on('data', take);
    });
  }

  static async start(failures: Readonly<Record<string, Failure>>): Promise<FailingBackend> {
    const backend = new FailingBackend(failures);
    backend.#server.listen(0, '127.0.0.1');
    await once(backend.#server, 'listening');
    return backend;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  /** How many requests it got whose head has this text. */
  count(text: string): number {
    return this.requests.filter(({ head }) => head.includes(text)).length;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
