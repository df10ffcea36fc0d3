import type { Answer, ByteStream } from '../protocol/backend.ts';
import { cut, isGone, isHttp2, type Outgoing } from './message.ts';

/** What became of an answer on its way. */
export interface Sent {
  /** Bytes of the body that were handed to the connection. */
  readonly bytes: bigint;
  readonly end: 'complete' | 'client-gone' | 'source-failed';
  readonly error?: unknown;
}

/** So many bytes wait for the client before the next chunk is asked for: a system call each for less is dear. */
const ENOUGH = 2 ** 18;

type Headers = Readonly<Record<string, string>>;

/** Writes an answer with these headers beside its own. Never throws. */
export async function send(response: Outgoing, answer: Answer, headers: Headers): Promise<Sent> {
  if (isGone(response)) {
    await abandon(answer);
    return { bytes: 0n, end: 'client-gone' };
  }
  const { body } = answer;
  if (body === null || typeof body === 'string') return sendText(response, answer, body, headers);
  writeHead(response, answer.status, headersOf(answer, headers));
  return sendStream(response, body);
}

function headersOf(answer: Answer, headers: Headers): Record<string, string> {
  const all: Record<string, string> = { ...answer.headers };
  if (answer.contentType !== undefined) all['content-type'] = answer.contentType;
  return Object.assign(all, headers);
}

function sendText(response: Outgoing, answer: Answer, body: string | null, headers: Headers): Sent {
  const text = body ?? '';
  const length = Buffer.byteLength(text);
  const all = headersOf(answer, headers);
  if (!bodiless(answer.status)) all['content-length'] = String(length);
  writeHead(response, answer.status, all);
  // As text it shares one write with the headers.
  response.end(text);
  return { bytes: BigInt(length), end: 'complete' };
}

/** Headers that concern one connection of HTTP/1, and are malformed in HTTP/2 (RFC 9113 section 8.2.2). */
const ofConnection = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
];

function writeHead(response: Outgoing, status: number, headers: Record<string, string>): void {
  if (!isHttp2(response)) {
    response.writeHead(status, headers);
    return;
  }
  for (const name of Object.keys(headers)) {
    if (ofConnection.includes(name.toLowerCase())) delete headers[name];
  }
  response.writeHead(status, headers);
}

function bodiless(status: number): boolean {
  return status === 204 || status === 304;
}

/**
 * One chunk at a time, as fast as the client takes them. A source that fails
 * cuts the connection: a short answer must never look like a whole one.
 */
async function sendStream(response: Outgoing, body: ByteStream): Promise<Sent> {
  let bytes = 0n;
  try {
    for await (const chunk of body) {
      if (isGone(response)) return { bytes, end: 'client-gone' };
      bytes += BigInt(chunk.byteLength);
      const taken = (error?: Error | null) => {
        if (error === undefined || error === null) body.sent?.(chunk);
      };
      if (!write(response, chunk, taken) && response.writableLength >= ENOUGH)
        await drained(response);
    }
    if (isGone(response)) return { bytes, end: 'client-gone' };
    response.end();
    return { bytes, end: 'complete' };
  } catch (error) {
    const gone = isGone(response);
    cut(response);
    return gone ? { bytes, end: 'client-gone' } : { bytes, end: 'source-failed', error };
  }
}

/** The same for either version of HTTP; TypeScript does not see that it is. */
function write(
  response: Outgoing,
  chunk: Uint8Array,
  taken: (error?: Error | null) => void,
): boolean {
  return isHttp2(response) ? response.write(chunk, taken) : response.write(chunk, taken);
}

/** Resolves when the client has taken what was written, or is gone. */
function drained(response: Outgoing): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      response.off('drain', settle);
      response.off('close', settle);
      resolve();
    };
    response.once('drain', settle);
    response.once('close', settle);
  });
}

/** Lets the source of an answer that nobody will read close what it holds open. */
async function abandon(answer: Answer): Promise<void> {
  const { body } = answer;
  if (body === null || typeof body === 'string') return;
  await body[Symbol.asyncIterator]().return?.();
}
