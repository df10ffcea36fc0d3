import { CONTEXT_PREFIXES } from '../../protocol/context.ts';
import { operations } from '../../protocol/operations.ts';

/** How a backend gets a header: as the client sent it, or written by the gateway. */
type Source = 'client' | 'gateway';

/** A header of a request that a backend gets. */
export interface CrossingHeader {
  /** In lower case; a `*` at the end stands for any text. */
  readonly name: string;
  readonly source: Source;
  /** What it means, for the documents. */
  readonly meaning: string;
}

/** Headers that cross with CreateTable alone, which the guard has judged by then. */
export const tableHeaders = operations.CreateTable.headers;

/**
 * Every header of a client's request that a backend gets. The list is closed: any other header stays here.
 * Forwarding, the examples in `deploy/` and the documents follow it.
 */
export const crossingHeaders: readonly CrossingHeader[] = [
  client('accept', 'media types of the answer'),
  client('content-type', 'media type of the body'),
  client('content-length', 'length of the body'),
  client('content-range', 'part of the body'),
  client('range', 'part of the answer'),
  client('user-agent', 'the client; decides the dialect'),
  client('phalanx-version', 'version of the LanceDB protocol'),
  gateway('traceparent', 'the trace; one begins at the gateway if the client sends none'),
  gateway('tracestate', 'state of the trace'),
  gateway('x-request-id', "the request id; a new one if the client's is not valid"),
  client('x-request-timeout-ms', 'time limit of a query or merge, in ms'),
  client('x-lancedb-min-version', 'freshness: the newest version that the client wrote'),
  client('x-lancedb-min-timestamp', 'freshness: a time that the answer must not be older than'),
  client('x-lancedb-min-read-version', 'freshness: the newest version that the client read'),
  ...CONTEXT_PREFIXES.map((prefix) => client(`${prefix}*`, 'context of the request')),
  ...tableHeaders.map((name) => client(name, 'field of CreateTable, on that operation only')),
];

function client(name: string, meaning: string): CrossingHeader {
  return { name, source: 'client', meaning };
}

function gateway(name: string, meaning: string): CrossingHeader {
  return { name, source: 'gateway', meaning };
}
