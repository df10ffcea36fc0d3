import type { Outcome } from './outcome.ts';
import { rateLimitHeaders } from './rate-limit-headers.ts';

/** What the server of this protocol version can do (wire-contract section 2): several vectors in one query, and full-text searches by their structure. */
const PROTOCOL_VERSION = '0.3.0';

/** The headers that every answer to a protocol request carries (contract section 3). */
export function responseHeaders(
  outcome: Outcome,
  state: { readonly pending: boolean; readonly closing: boolean },
): Readonly<Record<string, string>> {
  const { known, decision, reason } = outcome;
  const headers: Record<string, string> = {
    'x-request-id': known.requestId,
    'x-arrowgate-decision': decision,
    'x-arrowgate-decision-id': known.decisionId,
    'phalanx-version': outcome.answer.headers?.['phalanx-version'] ?? PROTOCOL_VERSION,
  };
  const limits = known.limits === undefined ? undefined : rateLimitHeaders(known.limits);
  if (limits !== undefined) {
    headers['ratelimit'] = limits.ratelimit;
    headers['ratelimit-policy'] = limits['ratelimit-policy'];
  }
  if (reason !== undefined) headers['x-arrowgate-reason'] = reason;
  if (state.pending) headers['x-arrowgate-audit'] = 'pending';
  if (state.closing) headers['connection'] = 'close';
  return headers;
}
