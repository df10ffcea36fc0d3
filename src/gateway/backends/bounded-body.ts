import { isUtf8 } from 'node:buffer';
import type { CatalogRequest } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { parseJson, type JsonValue } from '../../protocol/json.ts';

/** The most bytes that bodies may have; null for any number. */
export interface BodyLimits {
  readonly json: number;
  readonly arrow: number | null;
}

type MeasuredRequest = Pick<
  CatalogRequest,
  'operation' | 'method' | 'headers' | 'unmeasured' | 'body'
>;

/**
 * Refuses a body whose declared length is more than bodies of its kind may have.
 * @throws CatalogError InvalidInput
 */
export function checkBodyLength(request: MeasuredRequest, limits: BodyLimits): void {
  const most = mostOf(request, limits);
  const length = Number(request.headers['content-length'] ?? 0);
  if (most !== null && length > most) throw refusalOf(request, most);
}

/**
 * The body of a request, as long as it is not longer than bodies of its kind may be.
 * @throws CatalogError InvalidInput while it is read
 */
export function boundedBody(
  request: MeasuredRequest,
  limits: BodyLimits,
): AsyncIterable<Uint8Array> {
  const most = mostOf(request, limits);
  return most === null ? request.body : upTo(request, most);
}

/** All of a body in one piece. */
export async function collected(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

/**
 * The JSON of a body; undefined where there is none.
 * @throws CatalogError InvalidInput for a body that is too long, or no JSON
 */
export async function jsonIn(
  request: MeasuredRequest,
  limits: BodyLimits,
): Promise<JsonValue | undefined> {
  if (!hasBody(request)) return undefined;
  checkBodyLength(request, limits);
  const bytes = request.body.atHand?.() ?? (await collected(boundedBody(request, limits)));
  if (!isUtf8(bytes)) throw new CatalogError('InvalidInput', 'the body is not valid UTF-8');
  const text = Buffer.from(bytes).toString('utf8');
  return text.trim() === '' ? undefined : (parseJson(text) ?? undefined);
}

/** Whether anything may stand in the body (RFC 9112 section 6, RFC 9113 section 8.1). */
export function hasBody({
  headers,
  method,
  unmeasured,
}: Omit<MeasuredRequest, 'operation' | 'body'>): boolean {
  if (method === 'GET') return false;
  if (unmeasured === true) return true;
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) > 0);
}

function mostOf({ operation }: MeasuredRequest, limits: BodyLimits): number | null {
  return operation.body === 'arrow' ? limits.arrow : limits.json;
}

function refusalOf({ operation }: MeasuredRequest, most: number): CatalogError {
  return new CatalogError(
    'InvalidInput',
    operation.body === 'arrow'
      ? `the body is longer than ${most} bytes`
      : `a JSON body may have at most ${most} bytes`,
  );
}

async function* upTo(request: MeasuredRequest, most: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of request.body) {
    bytes += chunk.byteLength;
    if (bytes > most) throw refusalOf(request, most);
    yield chunk;
  }
}
