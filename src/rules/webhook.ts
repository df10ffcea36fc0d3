import { createHmac } from 'node:crypto';
import type { Webhook } from './commit-rule.ts';

/** The verdict of a webhook on a commit. */
export type WebhookVerdict =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'refused'; readonly reason: string }
  /** Why there is no verdict. */
  | { readonly kind: 'failed'; readonly why: string };

/** No answer is longer, in bytes. */
const LONGEST_ANSWER = 16 * 1024;
/** Longest reason that is passed on, in characters. */
const LONGEST_REASON = 300;

/**
 * Posts the summary of a commit and reads the verdict: `{"allow": true}`, or
 * `{"allow": false, "reason": "…"}`, with status 200. The headers
 * `x-arrowgate-timestamp` (seconds since 1970) and `x-arrowgate-signature` authenticate
 * the sender: `sha256=` and the HMAC-SHA-256 (RFC 2104) of the timestamp, a full stop and
 * the body, in hexadecimal. Redirects are not followed. Nothing is thrown.
 */
export async function callWebhook(
  { url, timeoutMillis }: Webhook,
  secret: string | undefined,
  summary: string,
  now: number,
): Promise<WebhookVerdict> {
  if (secret === undefined || secret === '') return failed('its key is not set');
  const signal = AbortSignal.timeout(timeoutMillis);
  try {
    const response = await fetch(url, {
      method: 'POST',
      body: summary,
      headers: signedHeaders(secret, summary, now),
      redirect: 'manual',
      signal,
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      return failed(`it answered with status ${response.status}`);
    }
    return verdictIn(await boundedText(response));
  } catch (error) {
    if (signal.aborted) return failed(`it gave no verdict within ${timeoutMillis} ms`);
    return failed(error instanceof AnswerFault ? error.message : 'it could not be reached');
  }
}

function failed(why: string): WebhookVerdict {
  return { kind: 'failed', why };
}

function signedHeaders(secret: string, summary: string, now: number): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000));
  const digest = createHmac('sha256', secret).update(`${timestamp}.${summary}`).digest('hex');
  return {
    'content-type': 'application/json',
    accept: 'application/json',
    'user-agent': 'arrowgate',
    'x-arrowgate-timestamp': timestamp,
    'x-arrowgate-signature': `sha256=${digest}`,
  };
}

/** An invalid answer. */
class AnswerFault extends Error {}

async function boundedText({ body }: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.byteLength;
    if (bytes > LONGEST_ANSWER) throw new AnswerFault('its answer is too long');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

function verdictIn(text: string): WebhookVerdict {
  const answer = parsed(text);
  if (typeof answer !== 'object' || answer === null || !('allow' in answer)) {
    throw new AnswerFault('its answer has no allow');
  }
  if (answer.allow === true) return { kind: 'allowed' };
  if (answer.allow !== false) throw new AnswerFault('its allow is neither true nor false');
  const reason = 'reason' in answer && typeof answer.reason === 'string' ? answer.reason : '';
  return { kind: 'refused', reason: plain(reason) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new AnswerFault('its answer is no JSON');
  }
}

function plain(reason: string): string {
  return reason
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, LONGEST_REASON);
}
