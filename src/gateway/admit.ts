import { CatalogError } from '../protocol/errors.ts';
import { RequestBody } from './http/request-body.ts';
import { checkFraming } from './http/framing.ts';
import {
  isDisconnected,
  isHttp2,
  isWhole,
  type IncomingRequest,
  type OutgoingResponse,
} from './http/message.ts';
import type { Networks } from './http/networks.ts';
import { Passage } from './passage.ts';
import type { Received } from './decision/steps.ts';
import { randomFillSync } from 'node:crypto';
import { isIP } from 'node:net';

const ID_BYTES = 16;
const ID_LENGTH = 36;
/** Number of ids that are drawn at once. */
const IDS = 128;
const random = Buffer.alloc(IDS * ID_BYTES);

const DIGITS = Buffer.from('0123456789abcdef');
/** Texts of the ids; their dashes and their versions stay. */
const texts = Buffer.from('00000000-0000-4000-8000-000000000000'.repeat(IDS));
/** Positions of the digits of each byte. */
const places = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const VERSION_BYTE = 6;
const VARIANT_BYTE = 8;
let drawn = '';
let used = IDS;

/**
 * A random UUID (RFC 9562 section 5.4). Each request needs one or two, and those of `node:crypto` are put together from pieces;
 * many at once take a third of the time of one by one.
 */
export function newId(): string {
  if (used === IDS) drawIds();
  const start = used * ID_LENGTH;
  used += 1;
  return drawn.slice(start, start + ID_LENGTH);
}

function drawIds(): void {
  randomFillSync(random);
  for (let id = 0; id < IDS; id += 1) writeId(id * ID_BYTES, id * ID_LENGTH);
  drawn = texts.toString('latin1');
  used = 0;
}

function writeId(from: number, to: number): void {
  for (let index = 0; index < ID_BYTES; index += 1) {
    const byte = stampedByte(random[from + index]!, index);
    const place = to + places[index]!;
    texts[place] = DIGITS[byte >> 4]!;
    texts[place + 1] = DIGITS[byte & 15]!;
  }
}

/** A byte of an id, with the bits that say which kind of UUID it is. */
function stampedByte(byte: number, index: number): number {
  if (index === VERSION_BYTE) return (byte & 0x0f) | 0x40;
  return index === VARIANT_BYTE ? (byte & 0x3f) | 0x80 : byte;
}

/** A request id of a client: 1 to 256 visible ASCII characters. */
const REQUEST_ID = /^[\x21-\x7e]{1,256}$/;

/** Assigns a request its ids and its source address. Refuses nothing, so that refusals have them too. */
export function receive(
  incoming: IncomingRequest,
  response: OutgoingResponse,
  waiting: boolean,
  trustedProxies: Networks,
): Received {
  const given = givenId(incoming);
  const arrivedMillis = performance.now();
  return new Passage({
    incoming,
    response,
    body: new RequestBody(incoming, response, waiting),
    requestId: given ?? newId(),
    clientRequestId: given,
    decisionId: newId(),
    sourceIp: sourceAddress(incoming, trustedProxies),
    arrivedMicros: Math.round((performance.timeOrigin + arrivedMillis) * 1000),
    arrivedMillis,
    signal: disconnectSignal(response),
  });
}

/**
 * @throws CatalogError InvalidInput for a head that could be read in two ways
 * or is not understood, ServiceUnavailable when the gateway is stopping
 */
export function admit(received: Received, stopping: boolean): Received {
  if (stopping) throw new CatalogError('ServiceUnavailable', 'the gateway is stopping');
  try {
    checkFraming(received.incoming);
  } catch (error) {
    distrust(received.response);
    throw error;
  }
  return received;
}

/** The start of the next request is unknown, so the connection is closed after the answer. */
function distrust(response: OutgoingResponse): void {
  if (!isHttp2(response)) response.shouldKeepAlive = false;
}

function givenId(incoming: IncomingRequest): string | undefined {
  const given = incoming.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : undefined;
}

/**
 * Refuses a mutation whose request id is invalid: under a new id, its repeat would be another request.
 * @throws CatalogError InvalidInput
 */
export function requireRepeatable({ incoming, clientRequestId }: Received): void {
  if (clientRequestId !== undefined || incoming.headers['x-request-id'] === undefined) return;
  throw new CatalogError(
    'InvalidInput',
    'the header x-request-id must be 1 to 256 visible ASCII characters; send the request again with such an id or without the header',
  );
}

/** Created on first use: most requests end before, and a signal is expensive. */
function disconnectSignal(response: OutgoingResponse): () => AbortSignal {
  let controller: AbortController | undefined;
  return () => (controller ??= abortedWithout(response)).signal;
}

function abortedWithout(response: OutgoingResponse): AbortController {
  const controller = new AbortController();
  const end = (): void => {
    if (!isWhole(response)) controller.abort();
  };
  if (isDisconnected(response)) end();
  else response.once('close', end);
  return controller;
}

/**
 * The source address of a request. The last entry of `X-Forwarded-For` counts if a trusted proxy sent
 * it, and the entry before it if that proxy is trusted in turn. An entry that is no address ends the walk:
 * the source is then the last proxy.
 */
export function sourceAddress(
  incoming: Pick<IncomingRequest, 'headers' | 'socket'>,
  trusted: Networks,
): string {
  let address = plainAddress(incoming.socket.remoteAddress ?? '');
  if (incoming.headers['x-forwarded-for'] === undefined) return address;
  for (const entry of forwardedFor(incoming).reverse()) {
    if (!trusted.has(address)) return address;
    const before = plainAddress(withoutPort(entry));
    if (isIP(before) === 0) return address;
    address = before;
  }
  return address;
}

function forwardedFor({ headers }: Pick<IncomingRequest, 'headers'>): string[] {
  const header = headers['x-forwarded-for'];
  if (header === undefined) return [];
  return (typeof header === 'string' ? header : header.join(',')).split(',').map((e) => e.trim());
}

/** An IPv4 address that came in over an IPv6 socket is written as IPv4. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
}

/** Some proxies write the port too: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  const [, bracketed, dotted] =
    /^(?:\[([^\]]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/.exec(entry) ?? [];
  return bracketed ?? dotted ?? entry;
}
