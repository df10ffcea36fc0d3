import {
  answerBy,
  type Answer,
  type AnswerBody,
  type Backend,
  type ByteStream,
  type CatalogRequest,
} from '../protocol/backend.ts';
import { RequestBudget } from '../protocol/budget.ts';
import { liesWithin, SYSTEM } from '../protocol/database.ts';
import type { ObjectPath } from '../protocol/identifier.ts';
import type { MaybePromise } from '../protocol/maybe-promise.ts';
import type { Permit } from '../protocol/permit.ts';
import { RoutedPermit } from './backends/routed-permit.ts';
import { decoded, isGzip } from './http/content-coding.ts';
import { isUnmeasured, onDisconnect } from './http/message.ts';
import { advance } from './passage.ts';
import type { Answered, Recorded } from './decision/steps.ts';

/**
 * Hands a request to the backend. Its answer counts only after the attempt is recorded, also if
 * the backend did not read the whole body. The first bytes of a streamed answer are awaited, so
 * that a failure before them becomes an error answer.
 */
export function forward(recorded: Recorded, backend: Backend): MaybePromise<Answered> {
  const request = requestOf(recorded);
  const { released } = recorded.body;
  if (released !== undefined) return forwardHeld(recorded, request, backend, released);
  const made = answerBy(backend, request, permitOf(recorded));
  return made instanceof Promise
    ? made.then((answer) => answered(recorded, answer, request.budget))
    : answered(recorded, made, request.budget);
}

/** An attempt that could not be recorded fails the request, even if the backend answered. */
async function forwardHeld(
  recorded: Recorded,
  request: CatalogRequest,
  backend: Backend,
  released: Promise<void>,
): Promise<Answered> {
  let answer: Answer;
  try {
    answer = await backend.handle(request, permitOf(recorded));
  } finally {
    await released;
  }
  return answered(recorded, answer, request.budget);
}

function answered(
  recorded: Recorded,
  answer: Answer,
  budget: RequestBudget,
): MaybePromise<Answered> {
  const { body } = answer;
  const length = lengthOf(body);
  if (length !== undefined) budget.answer(length);
  if (body === null || typeof body === 'string' || body.whole !== undefined) {
    return advance(recorded, { answer });
  }
  return primed(length === undefined ? counted(body, budget) : body).then((begun) =>
    advance(recorded, { answer: { ...answer, body: begun } }),
  );
}

/** A request to a database reaches nothing outside of it. */
function permitOf({ route: { root = [] }, permit }: Recorded): Permit {
  if (root.length === 0) return permit;
  const isInside = (object: ObjectPath): boolean =>
    object[0] === SYSTEM || liesWithin(object, root);
  const territory = {
    serves: (object: ObjectPath) => isInside(object) || liesWithin(root, object),
    servesBelow: isInside,
  };
  return new RoutedPermit(permit, territory, 'lies outside of the database');
}

let arriving: Promise<void> | undefined;

/**
 * Resolves when the bytes that arrived with the head of a request are parsed: a complete body
 * costs a fraction of one that is read as a stream. Requests of one turn wait together.
 */
export function arrival(): Promise<void> {
  arriving ??= new Promise((resolve) => {
    setImmediate(() => {
      arriving = undefined;
      resolve();
    });
  });
  return arriving;
}

function requestOf(recorded: Recorded): CatalogRequest {
  const { route, clientRequestId, trace } = recorded;
  const subscribe = (listener: () => void) => onDisconnect(recorded.response, listener);
  const budget = new RequestBudget(recorded.budget, subscribe);
  const request: CatalogRequest = {
    operation: route.operation,
    dialect: route.dialect,
    object: route.object,
    indexName: route.indexName,
    target: route.target,
    root: route.root,
    delimiter: route.delimiter,
    method: recorded.incoming.method ?? '',
    parameters: route.parameters,
    query: route.query,
    headers: recorded.incoming.headers,
    context: recorded.context,
    noteBodyContext: (bodyContext) => void advance(recorded, { bodyContext }),
    noteCanaries: (canaries) => void advance(recorded, { canaries }),
    requestId: recorded.requestId,
    clientRequestId,
    traceparent: trace?.traceparent,
    signal: recorded.signal,
    budget,
    onDisconnect: subscribe,
    unmeasured: isUnmeasured(recorded.incoming),
    body: recorded.body,
    ahead: route.operation.staged === true ? recorded.body.ahead() : undefined,
  };
  return isGzip(recorded.incoming) ? { ...request, ...decoded(request, budget) } : request;
}

/** Length of a body in bytes; undefined if it is unknown before it is sent. */
function lengthOf(body: AnswerBody): number | undefined {
  if (body === null) return 0;
  if (typeof body === 'string') return body.length;
  return body.whole?.byteLength ?? body.length;
}

/** Counts the bytes of a body as they arrive. */
function counted(body: ByteStream, budget: RequestBudget): ByteStream {
  if (budget.limits.result === null) return body;
  return {
    async *[Symbol.asyncIterator]() {
      for await (const piece of body) {
        budget.answer(piece.byteLength);
        yield piece;
      }
    },
    sent: (piece) => body.sent?.(piece),
    stalled: () => body.stalled?.(),
  };
}

async function primed(body: ByteStream): Promise<ByteStream> {
  const rest = body[Symbol.asyncIterator]();
  const first = await rest.next();
  return {
    [Symbol.asyncIterator]: () => startingWith(first, rest),
    sent: (piece) => body.sent?.(piece),
    stalled: () => body.stalled?.(),
    length: body.length,
  };
}

function startingWith(
  first: IteratorResult<Uint8Array, unknown>,
  rest: AsyncIterator<Uint8Array, unknown>,
): AsyncIterator<Uint8Array, unknown> {
  let pending: IteratorResult<Uint8Array, unknown> | undefined = first;
  return {
    async next() {
      const taken = pending;
      pending = undefined;
      return taken ?? rest.next();
    },
    async return() {
      await rest.return?.();
      return { done: true, value: undefined };
    },
  };
}
