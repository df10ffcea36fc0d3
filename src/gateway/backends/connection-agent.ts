import { Agent as PlainAgent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { RemoteOptions } from './backend-options.ts';
import type { ConnectionLimit } from './connection-limit.ts';

/** Idle timeout of a connection, in ms. Many servers close connections after five seconds. */
export const UNUSED_MILLIS = 4_000;

/** Keep-alive connections for requests that `http-proxy` sends to a backend. */
export function agentFor(
  { url, connections, timeouts }: RemoteOptions,
  limit: ConnectionLimit,
): PlainAgent {
  const options = {
    keepAlive: true,
    maxSockets: connections,
    maxFreeSockets: connections,
    timeout: timeouts.idle,
  };
  const agent = url.protocol === 'https:' ? new SecureAgent(options) : new PlainAgent(options);
  const keep = agent.keepSocketAlive.bind(agent);
  const reuse = agent.reuseSocket.bind(agent);
  agent.keepSocketAlive = (socket) => {
    const retained: unknown = keep(socket);
    if (socket instanceof Socket) shorten(socket);
    return retained !== false && !limit.isExceeded;
  };
  agent.reuseSocket = (socket, request) => {
    reuse(socket, request);
    // The idle timeout must not apply to the request.
    if (socket instanceof Socket) socket.setTimeout(timeouts.idle);
  };
  limitConnections(agent, limit);
  return agent;
}

function limitConnections(agent: PlainAgent, limit: ConnectionLimit): void {
  const sockets = new Set<Duplex>();
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (to, made) => {
    limit.makeRoom();
    const socket = connect(to, made);
    if (socket === null || socket === undefined) return socket;
    sockets.add(socket);
    return socket.once('close', () => sockets.delete(socket));
  };
  limit.add({
    open: () => openOf(sockets),
    dropOne: () => dropOne(agent),
  });
}

function openOf(sockets: ReadonlySet<Duplex>): number {
  let open = 0;
  for (const { destroyed } of sockets) if (!destroyed) open += 1;
  return open;
}

function dropOne({ freeSockets }: PlainAgent): boolean {
  const unused = Object.values(freeSockets).flatMap((sockets) => sockets ?? []);
  const socket = unused.find(({ destroyed }) => !destroyed);
  socket?.destroy();
  return socket !== undefined;
}

function shorten(socket: Socket): void {
  if ((socket.timeout ?? 0) > UNUSED_MILLIS) socket.setTimeout(UNUSED_MILLIS);
}
