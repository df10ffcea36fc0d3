import type { Answer, ByteStream, CatalogRequest } from '../../protocol/backend.ts';
import { BackendAway } from './backend-away.ts';
import { protocolCode, remoteError } from './remote-error.ts';
import { headersBack } from './remote-headers.ts';
import type { RemoteResponse } from './remote-response.ts';

/** An answer up to this size is taken whole, so that its outcome says all before it is sent. */
const WHOLE_BYTES = 64 * 1024;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * What a backend's response is to the caller. An error in the protocol's own
 * form passes as it is; any other becomes one.
 * @throws BackendAway, CatalogError for a refusal; ExchangeFault and others where the backend breaks off
 */
export async function answerOf(
  response: RemoteResponse,
  request: CatalogRequest,
  backend: string,
): Promise<Answer> {
  const { status } = response;
  if (status === 401 || status === 407) {
    await response.whole(WHOLE_BYTES);
    throw new BackendAway(`the backend ${backend} does not accept the gateway's own credential`);
  }
  if (status < 200 || (status >= 300 && status < 400)) {
    await response.whole(WHOLE_BYTES);
    throw new BackendAway(`the backend ${backend} answered ${status}, which is not followed`);
  }
  return status >= 400 ? refusalOf(response, request, backend) : successOf(response);
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
  // How a blob says that there is nothing in the range asked for.
  if (status === 416 && operation.response === 'bytes') return { ...headOf(response), body: null };
  throw remoteError(backend, operation, status, oneOf(headers['retry-after']));
}

function headOf({
  status,
  headers,
}: RemoteResponse): Pick<Answer, 'status' | 'contentType' | 'headers'> {
  const type = oneOf(headers['content-type']);
  const back = headersBack(headers);
  return type === undefined
    ? { status, headers: back }
    : { status, contentType: type, headers: back };
}

function oneOf(field: string | readonly string[] | undefined): string | undefined {
  return typeof field === 'string' ? field : undefined;
}

async function successOf(response: RemoteResponse): Promise<Answer> {
  const head = headOf(response);
  const length = lengthOf(response);
  if (length === undefined) return { ...head, body: response.stream() };
  // Without its length, the client could not tell a body that was cut short.
  const headers = { ...head.headers, 'content-length': String(length) };
  if (length > WHOLE_BYTES) return { ...head, headers, body: response.stream() };
  const bytes = (await response.whole(WHOLE_BYTES)) ?? Buffer.alloc(0);
  if (bytes.byteLength === 0) return { ...head, body: null };
  const text = textOf(bytes);
  return text === undefined ? { ...head, headers, body: once(bytes) } : { ...head, body: text };
}

function lengthOf({ status, headers }: RemoteResponse): number | undefined {
  if (status === 204) return 0;
  const length = headers['content-length'];
  return length === undefined ? undefined : Number(length);
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

function once(bytes: Uint8Array): ByteStream {
  return {
    async *[Symbol.asyncIterator]() {
      yield bytes;
    },
  };
}
