import type { Circumstances } from '../policy/circumstances.ts';
import type { Received } from './steps.ts';

/** What the conditions of the policy are judged by, as far as the request has been read. */
export function circumstancesOf(
  received: Pick<Received, 'sourceIp' | 'arrivedMicros'> & Partial<Pick<Circumstances, 'context'>>,
): Circumstances {
  const { sourceIp, arrivedMicros, context = new Map<string, string>() } = received;
  return { ip: sourceIp, time: Math.floor(arrivedMicros / 1000), context };
}
