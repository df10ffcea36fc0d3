import type { ServerResponse } from 'node:http';

/** Number of answers after which a group is written at once, so that none waits for the work of many requests. */
const MOST = 32;

/** Bytes up to this number are written as text with the head. */
const FEW_BYTES = 2 ** 14;

/** A short answer of HTTP/1 whose head is set. */
interface ShortAnswer {
  readonly response: ServerResponse;
  readonly body: string | Uint8Array;
  readonly encoding: 'latin1' | 'utf8';
}

let group: ShortAnswer[] = [];

/**
 * Writes a short answer with the others of the same turn of the event loop, one right after the other.
 * To wake a client that sleeps costs as much as to decide a request; one that was woken by the first
 * answer is awake for the next.
 */
export function writeGrouped(answer: ShortAnswer): void {
  if (group.length === 0) setImmediate(writeGroup);
  group.push(answer);
  if (group.length >= MOST) writeGroup();
}

/** Writes the answers that wait for the end of the turn. */
export function writeGroup(): void {
  const answers = group;
  group = [];
  for (const answer of answers) write(answer);
}

/**
 * Head and text go out as one string, in one piece: `end` would hand over another, empty one
 * behind it, and two pieces cost more to write.
 */
function write({ response, body, encoding }: ShortAnswer): void {
  const text = typeof body === 'string' ? body : textOf(body);
  if (text === '') {
    response.end(body);
    return;
  }
  response.write(text, encoding);
  response.socket?.uncork();
  response.end();
}

/** Bytes as a text of as many characters; empty if they are many. */
function textOf(bytes: Uint8Array): string {
  const { buffer, byteOffset, byteLength } = bytes;
  return byteLength > FEW_BYTES
    ? ''
    : Buffer.from(buffer, byteOffset, byteLength).toString('latin1');
}
