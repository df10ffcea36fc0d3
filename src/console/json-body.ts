import { CatalogError } from '../protocol/errors.ts';
import type { Received } from '../gateway/decision/steps.ts';

/** Largest body of the console, in bytes. */
const MOST_BODY = 32_768;

type JsonObject = Readonly<Record<string, unknown>>;

/**
 * The object in the body of a request.
 * @param shape A sentence about the body, for refusals.
 * @param most Its largest size, in bytes.
 * @throws CatalogError InvalidInput
 */
export async function jsonBody(
  { incoming, body }: Received,
  shape: string,
  most: number = MOST_BODY,
): Promise<JsonObject> {
  const type = incoming.headers['content-type'] ?? '';
  if (!/^application\/json\s*(;|$)/i.test(type)) throw new CatalogError('InvalidInput', shape);
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.byteLength;
    if (bytes > most)
      throw new CatalogError('InvalidInput', `the body is larger than ${most} bytes`);
    pieces.push(piece);
  }
  const value = parsed(Buffer.concat(pieces).toString());
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as JsonObject;
  }
  throw new CatalogError('InvalidInput', shape);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
