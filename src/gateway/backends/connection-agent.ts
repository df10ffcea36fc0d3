import { Agent as PlainAgent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { Socket } from 'node:net';
import type { RemoteOptions } from './backend-options.ts';

/** A connection that was not used for so long is closed: many servers close them after five seconds. */
const UNUSED_MILLIS = 4_000;

/** Connections to a backend that are used again. */
export function agentFor({ url, connections, timeouts }: RemoteOptions): PlainAgent {
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
  return agent;
}

function shorten(socket: Socket): void {
  if ((socket.timeout ?? 0) > UNUSED_MILLIS) socket.setTimeout(UNUSED_MILLIS);
}
