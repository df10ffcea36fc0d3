import { Agent as PlainAgent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { Socket } from 'node:net';
import type { RemoteOptions } from './backend-options.ts';

/** A connection that was not used for so long is closed: many servers close them after five seconds. */
export const UNUSED_MILLIS = 4_000;

/** What `http-proxy` has its connections from. */
export interface ConnectionAgent {
  readonly agent: PlainAgent;
  /** How many connections there are, in use or not. */
  open(): number;
  /** Closes a connection that is not in use, if there is one. */
  dropOne(): boolean;
}

/**
 * Connections to a backend that are used again.
 * @param makeRoom Told before another connection is made, so that it is not one too many.
 */
export function agentFor(
  { url, connections, timeouts }: RemoteOptions,
  makeRoom: () => void,
): ConnectionAgent {
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
    const kept: unknown = keep(socket);
    if (socket instanceof Socket) shorten(socket);
    return kept;
  };
  agent.reuseSocket = (socket, request) => {
    reuse(socket, request);
    // What was for the time without use must not hold for the request.
    if (socket instanceof Socket) socket.setTimeout(timeouts.idle);
  };
  let open = 0;
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (to, made) => {
    makeRoom();
    const socket = connect(to, made);
    open += 1;
    socket?.once('close', () => {
      open -= 1;
    });
    return socket;
  };
  return { agent, open: () => open, dropOne: () => drop(agent) };
}

function drop({ freeSockets }: PlainAgent): boolean {
  const socket = Object.values(freeSockets).find(
    (each) => each !== undefined && each.length > 0,
  )?.[0];
  socket?.destroy();
  return socket !== undefined;
}

function shorten(socket: Socket): void {
  if ((socket.timeout ?? 0) > UNUSED_MILLIS) socket.setTimeout(UNUSED_MILLIS);
}
