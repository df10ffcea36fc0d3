import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * The open connections, each with its latest response. Node's own list takes a
 * connection that never sent anything for a busy one, and would hold up a stop.
 */
export class Connections {
  readonly #latest = new Map<Duplex, ServerResponse | undefined>();

  /** Notes a new connection until it closes. */
  opened(socket: Duplex): void {
    this.#latest.set(socket, undefined);
    socket.once('close', () => this.#latest.delete(socket));
  }

  /** Notes the response to the latest request of a connection; earlier ones end before it. */
  answering(socket: Duplex, response: ServerResponse): void {
    this.#latest.set(socket, response);
  }

  /** The response to the latest request of a connection. */
  latest(socket: Duplex): ServerResponse | undefined {
    return this.#latest.get(socket);
  }

  /** Closes connections on which no request is being read or answered. */
  closeIdle(): void {
    for (const [socket, response] of this.#latest) if (isIdle(response)) socket.destroy();
  }

  closeAll(): void {
    for (const socket of this.#latest.keys()) socket.destroy();
  }
}

function isIdle(response: ServerResponse | undefined): boolean {
  return response === undefined || (response.writableFinished && response.req.complete);
}
