import type { CatalogRequest } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';

/** The most bytes that bodies may have; null for any number. */
export interface BodyLimits {
  readonly json: number;
  readonly arrow: number | null;
}

type Asked = Pick<CatalogRequest, 'operation' | 'headers' | 'body'>;

/**
 * The body of a request, as long as it is not longer than bodies of its kind may be.
 * @throws CatalogError InvalidInput: at once for a length that is declared, else while it is read
 */
export function boundedBody(request: Asked, limits: BodyLimits): AsyncIterable<Uint8Array> {
  const { operation, headers, body } = request;
  const arrow = operation.body === 'arrow';
  const most = arrow ? limits.arrow : limits.json;
  if (most === null) return body;
  // Made only for who gets it: an error is dear, most of all its stack.
  const refusal = (): CatalogError =>
    new CatalogError(
      'InvalidInput',
      arrow
        ? `the body is longer than ${most} bytes`
        : `a JSON body may have at most ${most} bytes`,
    );
  if (Number(headers['content-length'] ?? 0) > most) throw refusal();
  return upTo(body, most, refusal);
}

async function* upTo(
  body: AsyncIterable<Uint8Array>,
  most: number,
  refusal: () => CatalogError,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > most) throw refusal();
    yield chunk;
  }
}
