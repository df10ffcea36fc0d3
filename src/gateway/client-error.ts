import { randomUUID } from 'node:crypto';
import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { CatalogError } from '../protocol/errors.ts';
import { errorBody } from './outcome.ts';

/** Refusal of bytes that are no valid HTTP request. */
interface Refusal {
  readonly status: number;
  readonly sentence: string;
}

const refusals: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: { status: 431, sentence: 'the headers are too large' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, sentence: 'the chunk extensions are too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, sentence: 'the request took too long to arrive' },
};
const notHttp: Refusal = { status: 400, sentence: 'the request is not valid HTTP' };
const noTunnel: Refusal = { status: 400, sentence: 'the target of a request must be a path' };

/**
 * Answers bytes that are no HTTP request, as far as that can still be done: not
 * when an answer is already on its way on this connection.
 * @param last The last response that was started on the connection, if there was one.
 */
export function refuseBytes(error: Error, socket: Duplex, last: ServerResponse | undefined): void {
  if (!socket.writable || codeOf(error) === 'ECONNRESET' || isUnderWay(last)) {
    socket.destroy();
    return;
  }
  refuse(socket, refusals[codeOf(error)] ?? notHttp);
}

/** Answers a `CONNECT`: tunnels to other hosts are not supported. */
export function refuseTunnel(socket: Duplex): void {
  refuse(socket, noTunnel);
}

function refuse(socket: Duplex, refusal: Refusal): void {
  // Nothing else listens any more: without this, a client that disconnects would end the process.
  socket.on('error', () => socket.destroy());
  socket.write(rawAnswer(refusal));
  socket.end(() => socket.destroy());
}

function isUnderWay(answer: ServerResponse | undefined): boolean {
  return answer !== undefined && answer.headersSent && !answer.writableFinished;
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function rawAnswer({ status, sentence }: Refusal): string {
  const requestId = randomUUID();
  const body = errorBody(new CatalogError('InvalidInput', sentence), requestId);
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Date: ${new Date().toUTCString()}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}
