import { setImmediate } from 'node:timers/promises';
import type { Answer, ByteStream } from '../../protocol/backend.ts';
import { writeGrouped } from './answer-group.ts';
import { cut, isDisconnected, isHttp2, type OutgoingResponse } from './message.ts';

/** The result of sending an answer. */
export interface Sent {
  /** Bytes of the body that were handed to the connection. */
  readonly bytes: bigint | number;
  readonly end: 'complete' | 'client-gone' | 'source-failed';
  readonly error?: unknown;
}

/** More bytes are not handed over while these wait for the client: they are what a stalled answer holds. */
const ENOUGH = 2 ** 15;

/**
 * So many bytes are handed to the connection before others get their turn: the
 * system copies them at once, megabytes as readily as kilobytes, and meanwhile
 * no other request is answered.
 */
const TURN = 2 ** 19;

/**
 * The same while others are being answered: an answer takes several turns of the
 * loop (its request is read, its records are written), and waits each time for
 * what streams hand over.
 */
const SHARED_TURN = 2 ** 15;

/** Other requests count as being answered until a stream has sent this many bytes without one of their answers. */
const ALONE = 2 ** 24;

/** How many answers that do not stream were sent by this process. */
let answered = 0;

type Headers = Readonly<Record<string, string>>;

/** Writes an answer with these headers beside its own; at once where it does not stream. Never rejects. */
export function send(
  response: OutgoingResponse,
  answer: Answer,
  headers: Headers,
): Sent | Promise<Sent> {
  if (isDisconnected(response)) return abandon(answer);
  const { body } = answer;
  if (body === null || typeof body === 'string') return sendText(response, answer, body, headers);
  if (body.whole !== undefined) return sendBytes(response, answer, body.whole, headers);
  writeHead(response, answer.status, fieldsOf(answer, headers, body.length));
  return sendStream(response, body);
}

function sendBytes(
  response: OutgoingResponse,
  answer: Answer,
  bytes: Uint8Array,
  headers: Headers,
): Sent {
  writeHead(response, answer.status, fieldsOf(answer, headers, bytes.byteLength));
  endWith(response, bytes, 'latin1');
  answered++;
  return { bytes: bytes.byteLength, end: 'complete' };
}

function sendText(
  response: OutgoingResponse,
  answer: Answer,
  body: string | null,
  headers: Headers,
): Sent {
  const text = body ?? '';
  const length = Buffer.byteLength(text);
  const announced = bodiless(answer.status) ? undefined : length;
  writeHead(response, answer.status, fieldsOf(answer, headers, announced));
  endWith(response, text, length === text.length ? 'latin1' : 'utf8');
  answered++;
  return { bytes: length, end: 'complete' };
}

function endWith(
  response: OutgoingResponse,
  body: string | Uint8Array,
  encoding: 'latin1' | 'utf8',
): void {
  if (isHttp2(response)) response.end(body, encoding);
  else writeGrouped({ response, body, encoding });
}

/** Names and values in turn, which Node writes faster than an object. The headers given replace those of the answer. */
function fieldsOf(answer: Answer, headers: Headers, length: number | undefined): string[] {
  const { headers: own, contentType } = answer;
  const fields: string[] = [];
  for (const name in own) {
    const isReplaced =
      name in headers ||
      (name === 'content-type' && contentType !== undefined) ||
      (name === 'content-length' && length !== undefined);
    if (!isReplaced) fields.push(name, own[name]!);
  }
  if (contentType !== undefined) fields.push('content-type', contentType);
  for (const name in headers) fields.push(name, headers[name]!);
  if (length !== undefined) fields.push('content-length', String(length));
  return fields;
}

/** Headers that concern one connection of HTTP/1, and are malformed in HTTP/2 (RFC 9113 section 8.2.2). */
const ofConnection = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
];

function writeHead(response: OutgoingResponse, status: number, fields: string[]): void {
  if (isHttp2(response)) response.writeHead(status, withoutConnection(fields));
  else response.writeHead(status, fields);
}

function withoutConnection(fields: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at]!;
    if (!ofConnection.includes(name.toLowerCase())) headers[name] = fields[at + 1]!;
  }
  return headers;
}

function bodiless(status: number): boolean {
  return status === 204 || status === 304;
}

/**
 * One chunk at a time, as fast as the client takes them. A source that fails
 * cuts the connection: a short answer must never look like a whole one.
 */
async function sendStream(response: OutgoingResponse, body: ByteStream): Promise<Sent> {
  const writer = new TurnWriter(response, () => body.stalled?.());
  let bytes = 0n;
  try {
    for await (const chunk of body) {
      if (isDisconnected(response)) return { bytes, end: 'client-gone' };
      bytes += BigInt(chunk.byteLength);
      checkLength(body, bytes, false);
      await writer.write(chunk, (error) => {
        if (error === undefined || error === null) body.sent?.(chunk);
      });
      // Before the next piece: producing it may take a batch of memory.
      if (isDisconnected(response)) return { bytes, end: 'client-gone' };
    }
    if (isDisconnected(response)) return { bytes, end: 'client-gone' };
    checkLength(body, bytes, true);
    response.end();
    return { bytes, end: 'complete' };
  } catch (error) {
    const disconnected = isDisconnected(response);
    cut(response);
    return disconnected ? { bytes, end: 'client-gone' } : { bytes, end: 'source-failed', error };
  }
}

/** An announced length must be exact: further bytes would be read as the next answer. */
function checkLength({ length }: ByteStream, bytes: bigint, ended: boolean): void {
  if (length === undefined || (ended ? bytes === BigInt(length) : bytes <= BigInt(length))) return;
  throw new Error(
    `a body of ${length} bytes was announced, and ${ended ? 'ended at' : 'has'} ${bytes}`,
  );
}

/** The same for either version of HTTP; TypeScript does not see that it is. */
function write(response: OutgoingResponse, chunk: Uint8Array, taken?: Taken): boolean {
  return isHttp2(response) ? response.write(chunk, taken) : response.write(chunk, taken);
}

type Taken = (error?: Error | null) => void;

/**
 * Most bytes of one write. A connection that encrypts copies what it is given; another one refers to
 * it.
 */
function mostWritten(response: OutgoingResponse): number {
  const copies = isHttp2(response) || (response.socket !== null && 'encrypted' in response.socket);
  return copies ? ENOUGH : TURN;
}

/** Writes chunks of any size, a turn's bytes at a time. */
class TurnWriter {
  readonly #response: OutgoingResponse;
  readonly #most: number;
  readonly #stalled: () => void;
  readonly #share = new Share();
  #turn = 0;

  /** @param stalled Called when the client does not take the bytes. */
  constructor(response: OutgoingResponse, stalled: () => void) {
    this.#response = response;
    this.#most = mostWritten(response);
    this.#stalled = stalled;
  }

  /** @param taken Called when the whole chunk was written, or never will be. */
  async write(chunk: Uint8Array, taken: Taken): Promise<void> {
    let rest = chunk;
    for (let most = this.#step(); most < rest.byteLength; most = this.#step()) {
      if (isDisconnected(this.#response)) return;
      await this.#write(rest.subarray(0, most));
      rest = rest.subarray(most);
    }
    await this.#write(rest, taken);
  }

  #step(): number {
    return Math.min(this.#most, this.#share.turn());
  }

  async #write(piece: Uint8Array, taken?: Taken): Promise<void> {
    const response = this.#response;
    const isFull = !write(response, piece, taken) && response.writableLength >= ENOUGH;
    this.#turn += piece.byteLength;
    this.#share.sent(piece.byteLength);
    if (isFull) {
      this.#stalled();
      await drained(response);
    }
    if (this.#turn < this.#share.turn()) return;
    this.#turn = 0;
    await setImmediate();
  }
}

/** How much of a turn of the loop is one stream's. */
class Share {
  #answered = answered;
  #alone = ALONE;

  /** Maximum, in bytes. */
  turn(): number {
    if (answered !== this.#answered) {
      this.#answered = answered;
      this.#alone = 0;
    }
    return this.#alone < ALONE ? SHARED_TURN : TURN;
  }

  sent(bytes: number): void {
    this.#alone += bytes;
  }
}

/** Resolves when the client has read the written bytes, or has disconnected. */
function drained(response: OutgoingResponse): Promise<void> {
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

/** Closes the source of an answer without a reader; returns the error of closing it. */
async function abandon({ body }: Answer): Promise<Sent> {
  const disconnected: Sent = { bytes: 0n, end: 'client-gone' };
  if (body === null || typeof body === 'string') return disconnected;
  try {
    await body[Symbol.asyncIterator]().return?.();
    return disconnected;
  } catch (error) {
    return { ...disconnected, error };
  }
}
