import { randomUUID } from 'node:crypto';
import { constants, type Http2ServerResponse } from 'node:http2';
import { CatalogError } from '../protocol/errors.ts';
import { errorBody } from './outcome.ts';

/** What HTTP/2 counts for a header beside its name and value (RFC 9113 section 6.5.2). */
const ENTRY_BYTES = 32;
const TOO_LARGE = 431;

/** Whether headers are larger than a limit. Over HTTP/1 the parser counts. */
export function isTooLarge(raw: readonly string[], limit: number): boolean {
  const texts = raw.reduce((sum, text) => sum + text.length, 0);
  return texts + (raw.length / 2) * ENTRY_BYTES > limit;
}

/** Answers a stream whose headers are too large, as the parser of HTTP/1 has it answered. */
export function refuseHeaders(response: Http2ServerResponse): void {
  const requestId = randomUUID();
  const error = new CatalogError('InvalidInput', 'the headers are too large');
  response.writeHead(TOO_LARGE, { 'content-type': 'application/json', 'x-request-id': requestId });
  response.end(errorBody(error, requestId));
}

/** Ends a stream on which nothing moves for so long. */
export function limitStill({ stream }: Http2ServerResponse, milliseconds: number): void {
  stream.setTimeout(milliseconds, () => stream.close(constants.NGHTTP2_CANCEL));
}
