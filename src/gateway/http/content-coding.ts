import { pipeline, Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip, gzip } from 'node:zlib';
import type { Answer, BodyAhead, BodyBytes, CatalogRequest } from '../../protocol/backend.ts';
import type { RequestBudget } from '../../protocol/budget.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { IncomingRequest } from './message.ts';

/** Shorter answers are sent as they are, in bytes. */
const LEAST_BYTES = 4096;
const PIECE_BYTES = 2 ** 16;
const ACCEPTED = /^\s*(gzip|x-gzip|\*)\s*(?:;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?$/i;

const compress = promisify(gzip);

/** Whether the body of a request is gzip (RFC 9110 section 8.4). */
export function isGzip({ headers }: Pick<IncomingRequest, 'headers'>): boolean {
  const coding = headers['content-encoding']?.toLowerCase();
  return coding === 'gzip' || coding === 'x-gzip';
}

type Coded = Pick<CatalogRequest, 'body' | 'ahead' | 'headers' | 'unmeasured'>;

/**
 * A request whose gzip body is decoded as it is read. Its headers say nothing of the coding or
 * the length any more, so that backends get the decoded body.
 */
export function decoded(coded: Coded, budget: RequestBudget): Coded {
  const { 'content-encoding': _coding, 'content-length': _length, ...headers } = coded.headers;
  return {
    headers,
    unmeasured: true,
    body: new DecodedBody(coded.body, budget),
    ahead: coded.ahead && decodedAhead(coded.ahead, budget),
  };
}

function decodedAhead(ahead: BodyAhead, budget: RequestBudget): BodyAhead {
  return { bytes: new DecodedBody(ahead.bytes, budget), recorded: () => ahead.recorded() };
}

/** A gzip body, decoded piece by piece. */
class DecodedBody implements BodyBytes {
  readonly #source: AsyncIterable<Uint8Array>;
  readonly #budget: RequestBudget;

  constructor(source: AsyncIterable<Uint8Array>, budget: RequestBudget) {
    this.#source = source;
    this.#budget = budget;
  }

  /** @throws CatalogError InvalidInput for what is not gzip; OverBudget `decompressed` */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const gunzip = createGunzip({ chunkSize: PIECE_BYTES });
    let sent = 0;
    const counted = Readable.from(counting(this.#source, (bytes) => (sent += bytes)));
    // The reader gets the error.
    pipeline(counted, gunzip, () => undefined);
    try {
      for await (const piece of gunzip as AsyncIterable<Uint8Array>) {
        this.#budget.decompress(piece.byteLength);
        yield piece;
      }
    } catch (error) {
      throw isStoreDamage(error) ? notGzip() : error;
    }
    // Node ignores bytes after the last member.
    if (gunzip.bytesWritten !== sent) throw notGzip();
  }
}

async function* counting(
  source: AsyncIterable<Uint8Array>,
  count: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    count(chunk.byteLength);
    yield chunk;
  }
}

function isStoreDamage(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');
}

function notGzip(): CatalogError {
  return new CatalogError(
    'InvalidInput',
    'the body is not valid gzip, although its content-encoding says so',
  );
}

/** A JSON answer of some size in gzip, for a client that accepts it; any other as it is. */
export function encoded(answer: Answer, incoming: IncomingRequest): Answer | Promise<Answer> {
  const { body, contentType, headers } = answer;
  if (typeof body !== 'string' || body.length < LEAST_BYTES) return answer;
  if (contentType?.startsWith('application/json') !== true) return answer;
  if (headers?.['content-encoding'] !== undefined) return answer;
  const varying = { ...answer, headers: { ...headers, vary: 'accept-encoding' } };
  if (!acceptsGzip(incoming.headers['accept-encoding'])) return varying;
  return compress(body).then((bytes) => ({
    ...varying,
    headers: { ...varying.headers, 'content-encoding': 'gzip' },
    body: wholeBody(bytes),
  }));
}

/** Whether an `Accept-Encoding` allows gzip (RFC 9110 section 12.5.3); `*` decides if gzip is not named. */
export function acceptsGzip(field: string | string[] | undefined): boolean {
  let any = false;
  for (const item of [field ?? []].flat().join(',').split(',')) {
    const [, coding, quality = '1'] = ACCEPTED.exec(item) ?? [];
    if (coding === undefined) continue;
    if (coding !== '*') return Number(quality) > 0;
    any = Number(quality) > 0;
  }
  return any;
}

function wholeBody(whole: Uint8Array): Answer['body'] {
  return {
    whole,
    length: whole.byteLength,
    async *[Symbol.asyncIterator]() {
      yield whole;
    },
  };
}
