import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { CatalogError } from '../protocol/errors.ts';
import { errorBody } from './outcome.ts';

const sentences: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'the headers are too large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'the chunk extensions are too large',
  ERR_HTTP_REQUEST_TIMEOUT: 'the request took too long to arrive',
};

/**
 * Answers bytes that are no HTTP request, as far as that can still be done: not
 * when an answer is already on its way on this connection.
 * @param last The last answer that was begun on it, if there was one.
 */
export function refuseBytes(error: Error, socket: Duplex, last: ServerResponse | undefined): void {
  if (!socket.writable || codeOf(error) === 'ECONNRESET' || isUnderWay(last)) {
    socket.destroy();
    return;
  }
  socket.write(rawAnswer(sentences[codeOf(error)] ?? 'the request is not valid HTTP'));
  socket.end(() => socket.destroy());
}

function isUnderWay(answer: ServerResponse | undefined): boolean {
  return answer !== undefined && answer.headersSent && !answer.writableFinished;
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function rawAnswer(sentence: string): string {
  const requestId = randomUUID();
  const body = errorBody(new CatalogError('InvalidInput', sentence), requestId);
  return [
    'HTTP/1.1 400 Bad Request',
    `Date: ${new Date().toUTCString()}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}
