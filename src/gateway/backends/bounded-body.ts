import type { CatalogRequest } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';

/** The most bytes that bodies may have; null for any number. */
export interface BodyLimits {
  readonly json: number;
  readonly arrow: number | null;
}

type Asked = Pick<CatalogRequest, 'operation' | 'headers' | 'body'>;

/**
 * Refuses a body whose declared length is more than bodies of its kind may have.
 * @throws CatalogError InvalidInput
 */
export function checkLength(request: Asked, limits: BodyLimits): void {
  const most = mostOf(request, limits);
  const length = Number(request.headers['content-length'] ?? 0);
  if (most !== null && length > most) throw refusalOf(request, most);
}

/**
 * The body of a request, as long as it is not longer than bodies of its kind may be.
 * @throws CatalogError InvalidInput while it is read
 */
export function boundedBody(request: Asked, limits: BodyLimits): AsyncIterable<Uint8Array> {
  const most = mostOf(request, limits);
  return most === null ? request.body : upTo(request, most);
}

function mostOf({ operation }: Asked, limits: BodyLimits): number | null {
  return operation.body === 'arrow' ? limits.arrow : limits.json;
}

function refusalOf({ operation }: Asked, most: number): CatalogError {
  return new CatalogError(
    'InvalidInput',
    operation.body === 'arrow'
      ? `the body is longer than ${most} bytes`
      : `a JSON body may have at most ${most} bytes`,
  );
}

async function* upTo(request: Asked, most: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of request.body) {
    bytes += chunk.byteLength;
    if (bytes > most) throw refusalOf(request, most);
    yield chunk;
  }
}
