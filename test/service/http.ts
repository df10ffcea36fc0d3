import { once } from 'node:events';
import {
  request,
  type Agent,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http';
import { ADMIN_KEY } from '../support/service.ts';

/** What is sent with a request. */
export interface Sent {
  /** Bytes, pieces of bytes as they come, a text, or a value as JSON; absent is no body. */
  readonly body?: Uint8Array | AsyncIterable<Uint8Array> | string | object | undefined;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** The API key; the administrator's unless given, none for null. */
  readonly key?: string | null;
  readonly agent?: Agent;
  /** Cuts the connection. */
  readonly signal?: AbortSignal;
}

/** An answer that was read whole. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  /** The body as JSON; a test that asks for it fails when it is none. */
  readonly json: Record<string, unknown>;
}

/** What the LanceDB client calls itself. */
export const LANCEDB = { 'user-agent': 'LanceDB-Node-Client/0.31.0' };

/** The type by which clients name the Arrow streams that they send. */
export const ARROW_STREAM = { 'content-type': 'application/vnd.apache.arrow.stream' };

/**
 * Sends a request and reads the answer. The target goes onto the wire as it
 * stands: nothing of it is normalised.
 * @param line `POST /v1/table/t/describe`.
 */
export async function send(url: string, line: string, sent: Sent = {}): Promise<Reply> {
  return replyOf(await open(url, line, sent));
}

/** The same of a request that has to be granted. @throws Error with the answer when it is refused. */
export async function sendGranted(url: string, line: string, sent: Sent = {}): Promise<Reply> {
  const reply = await send(url, line, sent);
  if (reply.status >= 300) throw new Error(`${line} was answered ${reply.status} ${reply.text}`);
  return reply;
}

/** Sends a request; the answer is still to be read. */
export async function open(url: string, line: string, sent: Sent = {}): Promise<IncomingMessage> {
  const space = line.indexOf(' ');
  const { hostname, port } = new URL(url);
  const outgoing = request({
    host: hostname,
    port,
    method: line.slice(0, space),
    path: line.slice(space + 1),
    headers: headersOf(sent),
    ...(sent.agent === undefined ? {} : { agent: sent.agent }),
    ...(sent.signal === undefined ? {} : { signal: sent.signal }),
  });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve);
    outgoing.once('error', reject);
  });
  const { body } = sent;
  if (isPieces(body)) {
    // The server may answer and hang up before everything is sent; what counts is the answer.
    feed(outgoing, body).catch((error: unknown) => outgoing.destroy(asError(error)));
  } else {
    outgoing.end(wireBody(body));
  }
  return answered;
}

/** Sends pieces as fast as the server takes them, to the end even if the answer has come before. */
async function feed(outgoing: ClientRequest, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const closed = new Promise<void>((resolve) => outgoing.once('close', resolve));
  for await (const piece of pieces) {
    if (!outgoing.write(piece)) await Promise.race([once(outgoing, 'drain'), closed]);
    if (outgoing.destroyed) return;
  }
  outgoing.end();
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** Reads an answer to its end. */
export async function replyOf(incoming: IncomingMessage): Promise<Reply> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    bytes,
    get text() {
      return bytes.toString();
    },
    get json() {
      return JSON.parse(bytes.toString()) as Record<string, unknown>;
    },
  };
}

function headersOf({ key = ADMIN_KEY, headers = {} }: Sent): Record<string, string | string[]> {
  const all: Record<string, string | string[]> = key === null ? {} : { 'x-api-key': key };
  for (const [name, value] of Object.entries(headers)) {
    all[name] = typeof value === 'string' ? value : [...value];
  }
  return all;
}

function isPieces(body: Sent['body']): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && Symbol.asyncIterator in body;
}

function wireBody(
  body: Exclude<Sent['body'], AsyncIterable<Uint8Array>>,
): Uint8Array | string | undefined {
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) return body;
  return JSON.stringify(body);
}
