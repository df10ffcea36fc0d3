import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';

/** A request of either version of HTTP. Its `socket` is a `TLSSocket` where the connection is encrypted, also over HTTP/2. */
export type IncomingRequest = IncomingMessage | Http2ServerRequest;

/** The answer to a request of either version of HTTP. */
export type OutgoingResponse = ServerResponse | Http2ServerResponse;

/** Whether an answer goes out over HTTP/2, as one of many streams of its connection. */
export function isHttp2(outgoing: OutgoingResponse): outgoing is Http2ServerResponse {
  return 'stream' in outgoing;
}

/** Whether the client can no longer receive anything. */
export function isDisconnected(outgoing: OutgoingResponse): boolean {
  if (!isHttp2(outgoing)) return outgoing.destroyed;
  return outgoing.stream.destroyed || outgoing.stream.closed;
}

/**
 * Has a listener called once when the client disconnects before it has its answer, soon where it
 * has gone already. The answer takes that back.
 */
export function onDisconnect(outgoing: OutgoingResponse, listener: () => void): () => void {
  const end = (): void => {
    if (!isWhole(outgoing)) listener();
  };
  if (isDisconnected(outgoing)) queueMicrotask(end);
  else outgoing.on('close', end);
  return () => outgoing.off('close', end);
}

/** Whether the answer was handed over whole. A stream of HTTP/2 that its client reset is "finished" all the same. */
export function isWhole(outgoing: OutgoingResponse): boolean {
  if (!isHttp2(outgoing)) return outgoing.writableFinished;
  return outgoing.writableEnded && outgoing.stream.rstCode === constants.NGHTTP2_NO_ERROR;
}

/** Whether a request ended before its body was complete. */
export function isBrokenOff(incoming: IncomingRequest): boolean {
  if (!('stream' in incoming)) return !incoming.complete;
  return incoming.aborted || incoming.stream.rstCode !== constants.NGHTTP2_NO_ERROR;
}

/** Whether a body may follow without a header that announces it: HTTP/2 needs neither a length nor a coding. */
export function isUnmeasured(incoming: IncomingRequest): boolean {
  if (!('stream' in incoming) || incoming.headers['content-length'] !== undefined) return false;
  return !incoming.stream.endAfterHeaders;
}

/** Breaks an answer off so that it cannot pass for a whole one: the stream of HTTP/2, else the connection. */
export function cut(outgoing: OutgoingResponse): void {
  if (isHttp2(outgoing)) outgoing.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else outgoing.destroy();
}
