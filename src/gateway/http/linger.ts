import { noteBody } from './control-traffic.ts';
import type { IncomingRequest } from './message.ts';

/** How long, and for how many bytes, the rest of a refused upload is read. */
export interface LingerLimits {
  readonly bytes: number;
  readonly milliseconds: number;
}

export const defaultLinger: LingerLimits = { bytes: 256 * 1024 * 1024, milliseconds: 30_000 };

/**
 * Reads on and discards what a client still sends after it was answered. Many
 * clients look at the answer only when they have sent everything; closing at
 * once would give them a broken pipe in its place. Beyond the limits the
 * connection is cut.
 */
export function linger(incoming: IncomingRequest, limits: LingerLimits): void {
  if (incoming.complete || incoming.destroyed) return;
  let left = limits.bytes;
  const cut = (): void => {
    incoming.socket.destroy();
  };
  const timer = setTimeout(cut, limits.milliseconds);
  timer.unref();
  incoming.once('close', () => clearTimeout(timer));
  incoming.once('end', () => clearTimeout(timer));
  incoming.on('error', () => clearTimeout(timer));
  incoming.on('data', (chunk: Uint8Array) => {
    left -= chunk.byteLength;
    noteBody(incoming, chunk.byteLength);
    if (left < 0) cut();
  });
  // A reader that stopped without letting go would otherwise hold the bytes back.
  incoming.removeAllListeners('readable');
  incoming.resume();
}
