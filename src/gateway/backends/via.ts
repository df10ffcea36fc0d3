import { randomBytes } from 'node:crypto';
import { BackendAway } from './backend-away.ts';

/** More gateways one behind the other than anyone needs are a loop. */
const MOST_HOPS = 8;

/** How this process calls itself in `Via` (RFC 9110 section 7.6.3). */
const own = `arrowgate-${randomBytes(6).toString('hex')}`;

/**
 * The `Via` of a request for its next hop.
 * @throws BackendAway when the request has been here already, or went through too many gateways
 */
export function nextVia(via: string | undefined): string {
  const hop = `1.1 ${own}`;
  if (via === undefined) return hop;
  const hops = via.split(',').filter((each) => /\sarrowgate-/.test(each));
  if (via.includes(own) || hops.length >= MOST_HOPS) {
    throw new BackendAway('the request goes round in a circle of gateways');
  }
  return `${via}, ${hop}`;
}
