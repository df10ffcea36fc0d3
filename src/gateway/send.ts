import type { ServerResponse } from 'node:http';
import type { Answer, ByteStream } from '../protocol/backend.ts';

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
export async function send(
  response: ServerResponse,
  answer: Answer,
  headers: Headers,
): Promise<Sent> {
  if (response.destroyed) {
    await abandon(answer);
    return { bytes: 0n, end: 'client-gone' };
  }
  const { body } = answer;
  if (body === null || typeof body === 'string') return sendText(response, answer, body, headers);
  response.writeHead(answer.status, headersOf(answer, headers));
  return sendStream(response, body);
}

function headersOf(answer: Answer, headers: Headers): Record<string, string> {
  const type = answer.contentType === undefined ? {} : { 'content-type': answer.contentType };
  return { ...answer.headers, ...type, ...headers };
}

function sendText(
  response: ServerResponse,
  answer: Answer,
  body: string | null,
  headers: Headers,
): Sent {
  const text = body ?? '';
  const bytes = Buffer.byteLength(text);
  const length = bodiless(answer.status) ? {} : { 'content-length': String(bytes) };
  response.writeHead(answer.status, { ...headersOf(answer, headers), ...length });
  // Head and body go out as one string where they are ASCII: two pieces cost more to write.
  if (bytes === text.length) response.end(text, 'latin1');
  else response.end(Buffer.from(text));
  return { bytes: BigInt(bytes), end: 'complete' };
}

function bodiless(status: number): boolean {
  return status === 204 || status === 304;
}

/**
 * One chunk at a time, as fast as the client takes them. A source that fails
 * cuts the connection: a short answer must never look like a whole one.
 */
async function sendStream(response: ServerResponse, body: ByteStream): Promise<Sent> {
  let bytes = 0n;
  try {
    for await (const chunk of body) {
      if (response.destroyed) return { bytes, end: 'client-gone' };
      bytes += BigInt(chunk.byteLength);
      const taken = (error?: Error | null) => {
        if (error === undefined || error === null) body.sent?.(chunk);
      };
      if (!response.write(chunk, taken) && response.writableLength >= ENOUGH)
        await drained(response);
    }
    if (response.destroyed) return { bytes, end: 'client-gone' };
    response.end();
    return { bytes, end: 'complete' };
  } catch (error) {
    const gone = response.destroyed;
    response.destroy();
    return gone ? { bytes, end: 'client-gone' } : { bytes, end: 'source-failed', error };
  }
}

/** Resolves when the client has taken what was written, or is gone. */
function drained(response: ServerResponse): Promise<void> {
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
