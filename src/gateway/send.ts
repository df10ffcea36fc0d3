import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
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

/**
 * So many bytes are handed to the connection before others get their turn: the
 * system copies them at once, megabytes as readily as kilobytes, and meanwhile
 * nobody else is answered.
 */
const TURN = 2 ** 19;

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
  const writer = new TurnWriter(response);
  let bytes = 0n;
  try {
    for await (const chunk of body) {
      if (response.destroyed) return { bytes, end: 'client-gone' };
      bytes += BigInt(chunk.byteLength);
      await writer.write(chunk, (error) => {
        if (error === undefined || error === null) body.sent?.(chunk);
      });
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

type Taken = (error?: Error | null) => void;

/** Writes chunks of any size, a turn's bytes at a time. */
class TurnWriter {
  readonly #response: ServerResponse;
  #turn = 0;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** @param taken Told when all of the chunk is on its way, or that it never will be. */
  async write(chunk: Uint8Array, taken: Taken): Promise<void> {
    for (let start = 0; start + TURN < chunk.byteLength; start += TURN) {
      if (this.#response.destroyed) return;
      await this.#write(chunk.subarray(start, start + TURN));
    }
    await this.#write(chunk.subarray(lastStart(chunk)), taken);
  }

  async #write(piece: Uint8Array, taken?: Taken): Promise<void> {
    const response = this.#response;
    const isFull = !response.write(piece, taken) && response.writableLength >= ENOUGH;
    this.#turn += piece.byteLength;
    if (isFull) await drained(response);
    if (this.#turn < TURN) return;
    this.#turn = 0;
    await setImmediate();
  }
}

/** Where the last turn of a chunk begins. */
function lastStart({ byteLength }: Uint8Array): number {
  return Math.max(0, Math.ceil(byteLength / TURN) - 1) * TURN;
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
