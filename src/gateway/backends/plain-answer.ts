/** Characters that no line of a head may contain (RFC 9110 section 5.5), including a lone CR or LF. */
export const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/;

/** A complete response in the one shape that needs no full HTTP parser. */
export interface PlainAnswer {
  readonly status: number;
  /** Names in lower case, each once. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Milliseconds for which the backend keeps the connection for another request; 0 where it closes it. */
  readonly keeps: number;
}

/** The headers that limit how long a connection is kept open. */
export interface KeepHeaders {
  readonly connection?: string | undefined;
  readonly 'keep-alive'?: string | readonly string[] | undefined;
}

/** Bodies up to this size are awaited. */
const MOST_BYTES = 64 * 1024;
/** Heads are mostly some hundred bytes; a longer one than this is not looked at. */
const MOST_HEAD = 8 * 1024;

const END_OF_HEAD = '\r\n\r\n';
const STATUS_LINE = /^HTTP\/1\.1 ([2-5]\d\d)(?: .*)?$/;
/** Nothing may stand between a name and its colon (RFC 9112 section 5.1), and no line be folded (section 5.2). */
const NAME = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/;
const LENGTH = /^\d{1,8}$/;
const CHUNK = /^[\dA-Fa-f]{1,5}$/;

/**
 * The answer (RFC 9112) that these bytes are, from its first to its last. A number is
 * of how many bytes it will be when all of it is there. Undefined leaves it to
 * somebody who knows all of HTTP: an answer that streams, is long, repeats a field,
 * is only announced (1xx), or is not right.
 */
export function plainAnswerIn(bytes: Buffer): PlainAnswer | number | undefined {
  const end = bytes.indexOf(END_OF_HEAD, 0, 'latin1');
  if (end < 0 || end > MOST_HEAD) return undefined;
  const lines = bytes.toString('latin1', 0, end).split('\r\n');
  const status = STATUS_LINE.exec(lines[0]!)?.[1];
  const headers = status === undefined ? undefined : headersIn(lines);
  if (status === undefined || headers === undefined) return undefined;
  const body = bodyIn(bytes, end + END_OF_HEAD.length, status, headers);
  if (body === undefined || typeof body === 'number') return body;
  return { status: Number(status), headers, body, keeps: keepsOf(headers) };
}

/** The fields behind a status line. */
function headersIn(lines: readonly string[]): Record<string, string> | undefined {
  const headers: Record<string, string> = {};
  if (FORBIDDEN.test(lines[0]!)) return undefined;
  for (let at = 1; at < lines.length; at++) {
    const line = lines[at]!;
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase();
    if (!NAME.test(name) || FORBIDDEN.test(line) || name in headers) return undefined;
    headers[name] = trimmed(line, colon + 1);
  }
  return headers;
}

/** A field's value without the white space around it, which is only that of RFC 9110 section 5.6.3. */
function trimmed(line: string, from: number): string {
  let start = from;
  let end = line.length;
  while (start < end && isBlank(line.charCodeAt(start))) start += 1;
  while (end > start && isBlank(line.charCodeAt(end - 1))) end -= 1;
  return line.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

/** The body behind a head; a number and undefined as of the whole answer. */
function bodyIn(
  bytes: Buffer,
  start: number,
  status: string,
  headers: Readonly<Record<string, string>>,
): Buffer | number | undefined {
  const { 'content-length': length, 'transfer-encoding': coding, upgrade } = headers;
  if (upgrade !== undefined) return undefined;
  if (status === '204' || status === '304') {
    const named = coding !== undefined || (length !== undefined && length !== '0');
    return named ? undefined : exactly(bytes, start, 0);
  }
  if (coding !== undefined) {
    const isAlone = length === undefined && coding.toLowerCase() === 'chunked';
    return isAlone ? chunksIn(bytes, start) : undefined;
  }
  return length !== undefined && LENGTH.test(length)
    ? exactly(bytes, start, Number(length))
    : undefined;
}

/** The body, if it has exactly this length; its end while bytes are missing; undefined if more follow. */
function exactly(bytes: Buffer, start: number, length: number): Buffer | number | undefined {
  const end = start + length;
  if (length > MOST_BYTES || bytes.length > end) return undefined;
  return bytes.length === end ? bytes.subarray(start) : end;
}

/** Content of chunks without extensions or trailers, all of them complete (RFC 9112 section 7.1). */
function chunksIn(bytes: Buffer, start: number): Buffer | undefined {
  const contents: Buffer[] = [];
  for (let at = start; ;) {
    const end = bytes.indexOf('\r\n', at, 'latin1');
    const size = end < 0 || end - at > 5 ? '' : bytes.toString('latin1', at, end);
    if (!CHUNK.test(size)) return undefined;
    const from = end + 2;
    const to = from + Number.parseInt(size, 16);
    if (bytes[to] !== 0x0d || bytes[to + 1] !== 0x0a) return undefined;
    at = to + 2;
    if (to > from) contents.push(bytes.subarray(from, to));
    else return at === bytes.length ? joined(contents) : undefined;
  }
}

function joined(contents: readonly Buffer[]): Buffer {
  return contents.length === 1 ? contents[0]! : Buffer.concat(contents);
}

/** Connections are reused until one second before their backend closes them. */
const SPARE_MILLIS = 1_000;

/** Milliseconds for which a backend keeps the connection of an answer with these headers. */
export function keepsOf({ connection, 'keep-alive': hint }: KeepHeaders): number {
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return 0;
  const seconds = typeof hint === 'string' ? /^timeout=(\d{1,8})/.exec(hint)?.[1] : undefined;
  return seconds === undefined ? Infinity : Math.max(0, Number(seconds) * 1000 - SPARE_MILLIS);
}
