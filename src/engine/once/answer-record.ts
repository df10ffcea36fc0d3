import type { Answer } from '../../protocol/backend.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import { placeSummary } from './commit-summary.ts';
import type { RequestedRight } from './recording-permit.ts';
import type { BodyDigest } from './request-digest.ts';

/** The largest answer that is kept, with the rights that it took, in bytes. */
const MAX_BYTES = 131_072;

/** A request's digest and its answer, as stored. */
export interface AnswerRecord {
  /** Digest of the request without its Arrow body. */
  readonly asked: string;
  /** Digest of an Arrow body that was read. */
  readonly body: BodyDigest | null;
  /** Number of the request that made it, unique even if clients reuse ids. */
  readonly maker: string;
  /** Milliseconds since 1970 from which it counts no more. */
  readonly expires: number;
  readonly answer: KeptAnswer;
  /** The rights that it took beyond those that the route shows. */
  readonly rights: readonly RequestedRight[];
}

/** An answer without what is made again for each request. */
interface KeptAnswer {
  readonly status: number;
  readonly contentType: string | null;
  /** Null when it had none; a number of bytes when there was too much to keep. */
  readonly text: string | number | null;
  readonly mode: string | null;
  readonly branch: string | null;
  readonly objects: readonly ObjectPath[];
}

/** The stored part of an answer, and the rights it took: a replay requires them again. */
export function storedAnswer(
  { status, contentType, body, mode, branch, objects }: Answer,
  rights: readonly RequestedRight[],
): Pick<AnswerRecord, 'answer' | 'rights'> {
  const text = textOf(body);
  const bytes =
    Buffer.byteLength(text ?? '') + Buffer.byteLength(JSON.stringify([rights, objects]));
  const isSmall = bytes <= MAX_BYTES;
  const answer = {
    status,
    contentType: contentType ?? null,
    text: isSmall ? text : bytes,
    mode: mode ?? null,
    branch: branch ?? null,
    objects: isSmall ? (objects ?? []) : [],
  };
  return { answer, rights: isSmall ? rights : [] };
}

function textOf(body: Answer['body']): string | null {
  if (body === null || typeof body === 'string') return body;
  throw new Error('the answer of a change does not stream');
}

/** The answer of the first time, as the answer of a request that changes nothing. */
export function replayed(stored: KeptAnswer & { readonly text: string | null }): Answer {
  const { status, contentType, text, mode, branch, objects } = stored;
  return {
    status,
    ...(contentType !== null && { contentType }),
    headers: { 'x-arrowgate-replayed': 'true' },
    body: text,
    commit: placeSummary('replay'),
    ...(mode !== null && { mode }),
    ...(branch !== null && { branch }),
    objects,
  };
}

/** The bytes of a record: JSON. */
export function encodeAnswer(record: AnswerRecord): Uint8Array {
  return Buffer.from(JSON.stringify(record));
}

/** The inverse of `encodeAnswer`. */
export function decodeAnswer(bytes: Uint8Array): AnswerRecord {
  const record = JSON.parse(Buffer.from(bytes).toString()) as AnswerRecord;
  // One that was written before rights were kept has none.
  return { ...record, rights: record.rights ?? [] };
}
