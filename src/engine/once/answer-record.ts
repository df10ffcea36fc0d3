import type { Answer } from '../../protocol/backend.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import { placeSummary } from '../handlers/commit-summary.ts';
import type { BodyDigest } from './hashed-body.ts';

/** The largest body of an answer that is kept, in bytes. */
const MAX_BYTES = 131_072;

/** What a request asked and what it was answered, as the store keeps it. */
export interface AnswerRecord {
  /** Digest of all that was asked but for an Arrow body. */
  readonly asked: string;
  /** Of an Arrow body that was read. */
  readonly body: BodyDigest | null;
  /** The request that made it: a number of its own, whatever id the client gave it. */
  readonly maker: string;
  /** Milliseconds since 1970 from which it counts no more. */
  readonly expires: number;
  readonly answer: KeptAnswer;
}

/** An answer without what is made anew for each request. */
interface KeptAnswer {
  readonly status: number;
  readonly contentType: string | null;
  /** Null when it had none, a number of bytes when it had too many. */
  readonly text: string | number | null;
  readonly mode: string | null;
  readonly branch: string | null;
  readonly objects: readonly ObjectPath[];
}

/** What is kept of an answer. */
export function keptAnswer({
  status,
  contentType,
  body,
  mode,
  branch,
  objects,
}: Answer): KeptAnswer {
  return {
    status,
    contentType: contentType ?? null,
    text: keptText(body),
    mode: mode ?? null,
    branch: branch ?? null,
    objects: objects ?? [],
  };
}

function keptText(body: Answer['body']): KeptAnswer['text'] {
  if (body === null) return null;
  if (typeof body !== 'string') throw new Error('the answer of a change does not stream');
  const bytes = Buffer.byteLength(body);
  return bytes > MAX_BYTES ? bytes : body;
}

/** The answer of the first time, as the answer of a request that changes nothing. */
export function replayed(kept: KeptAnswer & { readonly text: string | null }): Answer {
  const { status, contentType, text, mode, branch, objects } = kept;
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
  return JSON.parse(Buffer.from(bytes).toString()) as AnswerRecord;
}
