import type { Incoming } from './message.ts';
import { isIP } from 'node:net';
import type { Networks } from './networks.ts';

/**
 * Where a request comes from. What a trusted proxy writes at the end of
 * `X-Forwarded-For` is believed, and what stands before that if it is one
 * itself; what anyone else sends of that header is not. An entry that is no
 * address ends the walk: then it comes from the last proxy.
 */
export function sourceAddress(
  incoming: Pick<Incoming, 'headers' | 'socket'>,
  trusted: Networks,
): string {
  let address = plainAddress(incoming.socket.remoteAddress ?? '');
  if (incoming.headers['x-forwarded-for'] === undefined) return address;
  for (const entry of forwardedFor(incoming).reverse()) {
    if (!trusted.has(address)) return address;
    const before = plainAddress(withoutPort(entry));
    if (isIP(before) === 0) return address;
    address = before;
  }
  return address;
}

function forwardedFor({ headers }: Pick<Incoming, 'headers'>): string[] {
  const header = headers['x-forwarded-for'];
  if (header === undefined) return [];
  return (typeof header === 'string' ? header : header.join(',')).split(',').map((e) => e.trim());
}

/** An IPv4 address that came in over an IPv6 socket is written as IPv4. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
}

/** Some proxies write the port too: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  const [, bracketed, dotted] =
    /^(?:\[([^\]]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/.exec(entry) ?? [];
  return bracketed ?? dotted ?? entry;
}
