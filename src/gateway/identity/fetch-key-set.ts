import { keySetFault } from '../../policy/settings/issuer.ts';

/** A key set is some kilobytes; a hundred keys are not half of this. */
const MAX_BYTES = 512 * 1024;

/** A key set that could not be fetched; the message is the end of a sentence. */
export class KeySetError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'KeySetError';
  }
}

/**
 * Fetches the text of a key set. Redirects are not followed: the address in
 * the configuration is the one that is believed.
 * @throws KeySetError
 */
export async function fetchKeySet(uri: string, signal: AbortSignal): Promise<string> {
  const response = await answerOf(uri, signal);
  try {
    if (response.status !== 200) throw new KeySetError(refusalOf(response.status));
    const text = await textOf(response);
    const fault = keySetFault(text);
    if (fault !== undefined) throw new KeySetError(`the answer ${fault}`);
    return text;
  } finally {
    await response.body?.cancel().catch(() => undefined);
  }
}

async function answerOf(uri: string, signal: AbortSignal): Promise<Response> {
  try {
    const headers = { accept: 'application/jwk-set+json, application/json' };
    return await fetch(uri, { redirect: 'manual', signal, headers });
  } catch (error) {
    throw new KeySetError(reasonOf(error));
  }
}

function refusalOf(status: number): string {
  return status >= 300 && status < 400
    ? `the answer is a redirect (${status}), which is not followed`
    : `the answer has status ${status}`;
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response.body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > MAX_BYTES) throw new KeySetError(`the answer is longer than ${MAX_BYTES} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof KeySetError ? error : new KeySetError(reasonOf(error));
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** A code or a kind: the texts of network errors may hold more than they should. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it failed';
  if (error.name === 'TimeoutError') return 'no answer came in time';
  const { cause } = error;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' ? `it failed (${code})` : 'it failed';
}
