import { isAscii, isUtf8 } from 'node:buffer';
import type { Answer, ByteStream, CatalogRequest } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { parseJson, type JsonValue } from '../../protocol/json.ts';
import { BackendUnavailable, protocolCode, remoteError } from './remote-error.ts';
import { headersBack } from './remote-headers.ts';
import { WHOLE_BYTES, type RemoteResponse } from './remote-response.ts';

/**
 * Converts a backend's response for the caller. An error in the protocol's own form passes unchanged;
 * any other is converted to it.
 * @throws BackendUnavailable, CatalogError for a refusal; ExchangeFault and others if the backend breaks off
 */
export function answerOf(
  response: RemoteResponse,
  request: CatalogRequest,
  backend: string,
): Answer | Promise<Answer> {
  const { status } = response;
  if (status >= 200 && status < 300) return successOf(response);
  if (status >= 400 && status !== 401 && status !== 407) {
    return refusalOf(response, request, backend);
  }
  return unusable(response, backend);
}

async function unusable(response: RemoteResponse, backend: string): Promise<never> {
  const { status } = response;
  await response.whole(WHOLE_BYTES);
  if (status === 401 || status === 407) {
    throw new BackendUnavailable(
      `the backend ${backend} does not accept the gateway's own credential`,
    );
  }
  throw new BackendUnavailable(`the backend ${backend} answered ${status}, which is not followed`);
}

async function refusalOf(
  response: RemoteResponse,
  { operation }: CatalogRequest,
  backend: string,
): Promise<Answer> {
  const { status, headers } = response;
  const bytes = (await response.whole(WHOLE_BYTES)) ?? Buffer.alloc(0);
  const text = textOf(bytes);
  const code = text === undefined ? undefined : protocolCode(text);
  if (text !== undefined && code !== undefined) return { ...headOf(response), body: text, code };
  // A blob store answers so when the range is empty.
  if (status === 416 && operation.response === 'bytes') return { ...headOf(response), body: null };
  throw remoteError(backend, operation, status, oneOf(headers['retry-after']));
}

/**
 * The JSON of an answer; undefined when it is none, or longer than the limit in bytes.
 * @throws ExchangeFault
 */
export async function jsonOf({ body }: Answer, limit: number): Promise<JsonValue | undefined> {
  const text = body === null || typeof body === 'string' ? body : await textWithin(body, limit);
  if (text === null || text === undefined || text.length > limit) return undefined;
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof CatalogError) return undefined;
    throw error;
  }
}

async function textWithin(body: ByteStream, limit: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > limit) return undefined;
    chunks.push(chunk);
  }
  return textOf(Buffer.concat(chunks));
}

type Head = Pick<Answer, 'status' | 'contentType' | 'headers'>;

function headOf({ status, headers }: RemoteResponse): Head {
  const type = oneOf(headers['content-type']);
  const back = headersBack(headers);
  return type === undefined
    ? { status, headers: back }
    : { status, contentType: type, headers: back };
}

function oneOf(field: string | readonly string[] | undefined): string | undefined {
  return typeof field === 'string' ? field : field?.[0];
}

function successOf(response: RemoteResponse): Answer | Promise<Answer> {
  const { atHand } = response;
  const head = headOf(response);
  if (atHand !== undefined) return withBody(head, atHand);
  const length = lengthOf(response);
  if (length === undefined) return { ...head, body: response.stream() };
  return length > WHOLE_BYTES
    ? { ...withLength(head, length), body: response.stream() }
    : withWhole(head, response);
}

async function withWhole(head: Head, response: RemoteResponse): Promise<Answer> {
  return withBody(head, (await response.whole(WHOLE_BYTES)) ?? Buffer.alloc(0));
}

function withBody(head: Head, bytes: Buffer): Answer {
  const text = textOf(bytes);
  return text === undefined
    ? { ...withLength(head, bytes.byteLength), body: once(bytes) }
    : { ...head, body: text === '' ? null : text };
}

/** Without its length, the client could not tell a body that was cut short. */
function withLength(head: Head, length: number): Head {
  return { ...head, headers: { ...head.headers, 'content-length': String(length) } };
}

function lengthOf({ status, headers }: RemoteResponse): number | undefined {
  if (status === 204) return 0;
  const length = headers['content-length'];
  return length === undefined ? undefined : Number(length);
}

/** Bytes as text, if they are some. */
function textOf(bytes: Buffer): string | undefined {
  if (isAscii(bytes)) return bytes.toString('latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}

function once(bytes: Uint8Array): ByteStream {
  return {
    async *[Symbol.asyncIterator]() {
      yield bytes;
    },
  };
}
