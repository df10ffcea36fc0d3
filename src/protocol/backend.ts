import type { IncomingHttpHeaders } from 'node:http';
import type { RequestBudget } from './budget.ts';
import type { CommitSummary } from './commit-summary.ts';
import type { Dialect } from './dialect.ts';
import type { ObjectPath } from './identifier.ts';
import type { Operation } from './operations/operation.ts';
import type { MaybePromise } from './maybe-promise.ts';
import type { Permit } from './permit.ts';
import type { VendSummary } from './vend-summary.ts';
import type { Canary } from './restrictions.ts';
import type { PendingRead } from './read-summary.ts';

/** A request whose route and headers are understood and allowed; its body is untouched. */
export interface CatalogRequest {
  readonly operation: Operation;
  readonly dialect: Dialect;
  /** The object of the route; `[]` for the root and for operations without an object. */
  readonly object: ObjectPath;
  /** The index named by the route, where there is one. */
  readonly indexName?: string | undefined;
  /** The second object of the route, for `/rename/to/{id}`. */
  readonly target?: ObjectPath | undefined;
  /** The namespace in which the request's names begin, where a header names a database. */
  readonly root?: ObjectPath | undefined;
  readonly delimiter: string;
  /** The verb of the request, where it came over the network. */
  readonly method?: string;
  /** Parameters of the route besides identifiers. */
  readonly parameters?: ReadonlyMap<string, string>;
  /** Query parameters, decoded; each may repeat only where the operation allows it. */
  readonly query: ReadonlyMap<string, readonly string[]>;
  readonly headers: IncomingHttpHeaders;
  /** `x-service-ctx-*` and `x-lance-ctx-*`, keys in lower case. */
  readonly context: ReadonlyMap<string, string>;
  /** Called once with the context of the body, keys in lower case, by the backend that reads it. */
  readonly noteBodyContext?: (context: ReadonlyMap<string, string>) => void;
  /** Called once with the canaries that the body names, by the backend that applies restrictions. */
  readonly noteCanaries?: (canaries: readonly Canary[]) => void;
  readonly requestId: string;
  /** Trace context for the next hop (W3C Trace Context); absent if tracing is disabled. */
  readonly traceparent?: string | undefined;
  /** The id that the client chose, by which it can repeat the request; absent when it sent none. */
  readonly clientRequestId?: string | undefined;
  /** Aborted when the client disconnects; created on first use. */
  readonly signal: () => AbortSignal;
  /** The budget of the request; all work for it is charged here. */
  readonly budget: RequestBudget;
  /**
   * Has a listener called once when the client disconnects, soon where it has gone already;
   * the answer takes that back. Cheaper than a signal.
   */
  readonly onDisconnect?: (listener: () => void) => () => void;
  /** True for a body whose length no header announces, as over HTTP/2. */
  readonly unmeasured?: boolean;
  /** For a change, it does not end before the attempt is recorded. */
  readonly body: BodyBytes;
  /** The body of an operation that is `staged`, without waiting for the attempt. */
  readonly ahead?: BodyAhead | undefined;
}

/** The body of a request, as it comes. */
export interface BodyBytes extends AsyncIterable<Uint8Array> {
  /** The whole body, if it is already complete; it counts as read then. */
  atHand?(): Uint8Array | undefined;
}

/** A body that can be read whole before its change takes effect. */
export interface BodyAhead {
  readonly bytes: AsyncIterable<Uint8Array>;
  /**
   * Resolves when the attempt is recorded: the change may take effect.
   * When it rejects it must not.
   */
  recorded(): Promise<void>;
}

/** Bytes in pieces, in the order in which they are sent. */
export interface ByteStream extends AsyncIterable<Uint8Array> {
  /**
   * To be called with a piece once it is on its way and nothing looks at it any
   * more: its memory may then hold other bytes. It need not be called.
   */
  sent?(piece: Uint8Array): void;
  /**
   * Called when the client does not take the bytes that were sent. The stream may release its
   * memory until the next piece is read.
   */
  stalled?(): void;
  /** Total length in bytes, if it is known in advance. */
  readonly length?: number | undefined;
  /**
   * All bytes in one piece, if they are at hand: then the pieces need not be read or closed, and
   * `sent` is not called.
   */
  readonly whole?: Uint8Array | undefined;
  /** Rows of `whole`, where its maker knows them. */
  readonly rows?: number | undefined;
}

/** A body that is sent: nothing, a text that is already serialised, or bytes as they come. */
export type AnswerBody = null | string | ByteStream;

/**
 * What a backend answers, as data: the gateway records the outcome before the
 * first byte of it is sent.
 */
export interface Answer {
  readonly status: number;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: AnswerBody;
  readonly commit?: CommitSummary;
  /** What was read of rows. */
  readonly read?: PendingRead;
  /** The credentials in the answer. It is sent once that is recorded. */
  readonly vended?: VendSummary;
  /** Code of the error table, where a backend refused in its own words. */
  readonly code?: number;
  /** Objects that only the body named, for the audit record. */
  readonly objects?: readonly ObjectPath[];
  readonly mode?: string;
  readonly branch?: string;
}

/** Something that answers catalog requests: the embedded engine, or a remote catalog. */
export interface Backend {
  readonly name: string;
  /** @throws CatalogError for a refusal; anything else is an internal error. */
  handle(request: CatalogRequest, permit: Permit): Promise<Answer>;
  /** The same, synchronously where nothing has to be awaited; not every backend can. */
  answer?(request: CatalogRequest, permit: Permit): MaybePromise<Answer>;
  /** Whether it can serve now; a sentence when it cannot. */
  health(): Promise<string | undefined>;
  /** Whether acknowledged changes may be lost; a sentence if so. */
  weakness(): Promise<string | undefined>;
}

/** The answer of a backend, synchronously if it can. */
export function answerBy(
  backend: Backend,
  request: CatalogRequest,
  permit: Permit,
): MaybePromise<Answer> {
  return backend.answer?.(request, permit) ?? backend.handle(request, permit);
}
